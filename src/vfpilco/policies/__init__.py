"""Policies: differentiable maps from x* to the plant's inputs."""

from __future__ import annotations

import numpy as np

from vfpilco.policies.base import Params, Policy
from vfpilco.policies.mlp import NeuralNetwork
from vfpilco.policies.rbf import RBFNetwork
from vfpilco.representation import Representation
from vfpilco.sensors import Spreading
from vfpilco.task import Task
from vfpilco.trial import Trial

KINDS: dict[str, type] = {"rbf": RBFNetwork, "mlp": NeuralNetwork}
"""The policies that can be chosen and saved, by name."""

__all__ = ["KINDS", "NeuralNetwork", "Params", "Policy", "RBFNetwork", "make"]


QUIET = 8.0
"""A difference has to be so many times its measurement noise to be told from it at once."""


def make(kind: str, size: int, representation: Representation, task: Task, explored: list[Trial]) -> Policy:
    """The policy to be learned, with the units of its inputs fixed by the exploration."""
    x = np.concatenate([representation.training_set(trial).x for trial in explored])
    kinds = [k for k in representation.input_kinds() if k != "input"]
    units = [1.0 if k in ("position", "circle") else spread(column) for k, column in zip(kinds, x.T, strict=False)]
    noise = task.sensor.spread() if isinstance(task.sensor, Spreading) else (0.0,) * len(task.positions)
    rates = [i for i, k in enumerate(kinds) if k == "rate"]
    for i, std in zip(rates, representation.rate_noise(noise), strict=True):
        units[i] = max(units[i], QUIET * std)
    if task.reference is not None:
        errors = np.concatenate([task.reference[: len(trial.q)] - trial.q for trial in explored])
        kinds += ["error"] * errors.shape[1]
        units += [max(spread(column), QUIET * std) for column, std in zip(errors.T, noise, strict=True)]
    limits = tuple(task.limits.tolist())
    if kind == "mlp":
        return NeuralNetwork(tuple(units), limits, size)
    turns = tuple(p.within or (-np.pi, np.pi) for p in task.positions if p.angle)
    turns = turns * (kinds.count("circle") // (2 * len(turns))) if turns else ()
    return RBFNetwork(tuple(units), tuple(k == "circle" for k in kinds), limits, size, turns)


def spread(column: np.ndarray) -> float:
    """The standard deviation of what varies from sample to sample."""
    return float(max(column.std(), 1e-6))
