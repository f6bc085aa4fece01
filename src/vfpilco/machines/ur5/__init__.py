"""The UR5 robot arm."""
