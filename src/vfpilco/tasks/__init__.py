"""What the user describes: the machine, what it should do, how it starts and is explored."""
