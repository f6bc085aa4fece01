"""Recordings made by other programs: reading them, checking them line by line, and estimating the machine from them."""
