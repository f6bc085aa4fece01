"""The ball-and-plate."""
