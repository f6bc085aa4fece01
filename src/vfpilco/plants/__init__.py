"""Plants: the machines themselves, apart from everything that is learned."""
