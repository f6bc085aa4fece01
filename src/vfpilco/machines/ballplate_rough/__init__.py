"""The ball-and-plate as it is on a workbench."""
