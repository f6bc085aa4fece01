"""The trial loop: learn, execute, evaluate, tell and ask, dry run."""
