"""The commands of the program: a module each, with a function `run(argv)`."""
