"""The ball-and-plate with the faults of a real rig."""
