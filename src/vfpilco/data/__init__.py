"""The records that layers pass to each other: trials, results, events."""
