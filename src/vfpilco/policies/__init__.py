"""Policies: differentiable maps from x* to the plant's inputs."""

from __future__ import annotations

import numpy as np

from vfpilco.policies.base import Params, Policy
from vfpilco.policies.mlp import NeuralNetwork
from vfpilco.policies.rbf import RBFNetwork
from vfpilco.representation import Representation
from vfpilco.trial import Trial

KINDS: dict[str, type] = {"rbf": RBFNetwork, "mlp": NeuralNetwork}
"""The policies that can be chosen and saved, by name."""

__all__ = ["KINDS", "NeuralNetwork", "Params", "Policy", "RBFNetwork", "make"]


def make(
    kind: str,
    size: int,
    representation: Representation,
    explored: list[Trial],
    limits: np.ndarray,
    reference: np.ndarray | None = None,
) -> Policy:
    """The policy to be learned, with the units of its inputs fixed by the exploration."""
    x = np.concatenate([representation.training_set(trial).x for trial in explored])
    entries = [(k, column) for k, column in zip(representation.input_kinds(), x.T, strict=True) if k != "input"]
    if reference is not None:
        errors = np.concatenate([reference[: len(trial.q)] - trial.q for trial in explored])
        entries += [("error", column) for column in errors.T]
    units = tuple(input_unit(k, column) for k, column in entries)
    u_max = tuple(limits.tolist())
    if kind == "mlp":
        return NeuralNetwork(units, u_max, size)
    return RBFNetwork(units, tuple(k == "circle" for k, _ in entries), u_max, size)


def input_unit(kind: str, column: np.ndarray) -> float:
    """The unit of a policy input: one for sines, cosines and positions, the spread for what is small or large."""
    return float(max(column.std(), 1e-6)) if kind in ("rate", "error") else 1.0
