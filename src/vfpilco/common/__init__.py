"""What every layer uses: errors, files that are complete or absent, text, random numbers, JAX configuration."""
