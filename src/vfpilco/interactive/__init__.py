"""What Python programs and notebooks use: `learn` by name with a progress bar, and a result that plots itself."""
