"""Recordings made elsewhere: read, checked line by line, and looked at for what they say of the machine."""
