"""The command line: commands, arguments, what the terminal shows, signals."""
