"""Policies: differentiable maps from x* to the plant's inputs, and the learned policy as it runs on the machine."""
