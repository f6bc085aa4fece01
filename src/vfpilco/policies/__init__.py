"""Policies: differentiable maps from x* to the plant's inputs."""

from vfpilco.policies.base import Params, Policy
from vfpilco.policies.mlp import NeuralNetwork
from vfpilco.policies.rbf import RBFNetwork

__all__ = ["NeuralNetwork", "Params", "Policy", "RBFNetwork"]
