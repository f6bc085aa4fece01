"""The commands of the program: one module each, with a function `run(argv)`."""
