"""What a run writes to disk: the run folder, trial files, checkpoints, the lock."""
