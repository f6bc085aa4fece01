"""State representations: what a method remembers of positions and inputs, and what GPs and policy see of it."""
