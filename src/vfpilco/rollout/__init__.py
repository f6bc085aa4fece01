"""Simulated particles and the optimisation of policies on them."""
