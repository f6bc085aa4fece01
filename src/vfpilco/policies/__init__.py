"""Policies: differentiable maps from x* to the plant's inputs."""

from __future__ import annotations

import numpy as np

from vfpilco.policies.base import Params, Policy
from vfpilco.policies.mlp import NeuralNetwork
from vfpilco.policies.rbf import LinearRBFNetwork, RBFNetwork
from vfpilco.representation import Representation
from vfpilco.task import Task
from vfpilco.trial import Trial

KINDS: dict[str, type] = {"rbf": RBFNetwork, "linear-rbf": LinearRBFNetwork, "mlp": NeuralNetwork}
"""The policies that can be chosen and saved, by name."""

__all__ = ["KINDS", "LinearRBFNetwork", "NeuralNetwork", "Params", "Policy", "RBFNetwork", "make", "speeds"]

MARGIN = 0.3
"""How far from the angles to be followed basis functions start, in rad."""
WEIGHTS = 0.1
"""A step of a weight, of that of a gain."""
FASTEST = 10.0
"""How much faster gains may be learned than other parameters."""


def make(kind: str, size: int, representation: Representation, task: Task, explored: list[Trial]) -> Policy:
    """The policy to be learned, with the units of its inputs fixed by the exploration."""
    x = np.concatenate([representation.training_set(trial).x for trial in explored])
    kinds = [k for k in representation.input_kinds() if k not in ("input", "feature")]
    units = [spread(column) if k == "rate" else 1.0 for k, column in zip(kinds, x.T, strict=False)]
    scales = [p.scale for p in task.positions if not p.angle]
    for n, i in enumerate(i for i, k in enumerate(kinds) if k == "position"):
        units[i] = scales[n % len(scales)]
    turns = [p.bounds or (-np.pi, np.pi) for p in task.positions if p.angle]
    if task.reference is not None:
        followed = task.reference[:, task.angles].T
        turns = [(float(r.min()) - MARGIN, float(r.max()) + MARGIN) for r in followed]
        errors = np.concatenate([task.reference[: len(trial.q)] - trial.q for trial in explored])
        kinds += ["error"] * errors.shape[1]
        units += [spread(column) for column in errors.T]
    limits = tuple(task.limits.tolist())
    if kind == "mlp":
        return NeuralNetwork(tuple(units), limits, size)
    turns *= kinds.count("circle") // (2 * len(turns) or 1)
    return KINDS[kind](tuple(units), tuple(k == "circle" for k in kinds), limits, size, tuple(turns))


def speeds(policy: Policy, params: Params, task: Task, trials: list[Trial]) -> Params:
    """How many times faster than the others each parameter is to be learned, given all trials so far.

    Weights and gains are in the unit of their input, so their steps are shares of its limit. Weights act together, as
    many as there are basis functions near by, and make smaller steps than gains.

    Gains on the error from a reference are learned in units of the errors that an exploration made. As the errors
    become smaller from trial to trial, larger gains are called for: faster by as much as the last errors were smaller.
    """
    usual = {name: np.ones(np.shape(value)) for name, value in params.items()}
    shares = {"weights": WEIGHTS, "gains": 1.0} if isinstance(policy, RBFNetwork) else {}
    for name in shares.keys() & usual.keys():
        usual[name] *= shares[name] * task.limits
    if task.reference is None or not isinstance(policy, LinearRBFNetwork):
        return usual
    last = trials[-1].q
    errors = [spread(column) for column in (task.reference[: len(last)] - last).T]
    units = np.asarray(policy.scale[-len(errors) :])
    usual["gains"][-len(errors) :] *= np.clip(units / errors, 1.0, FASTEST)[:, None]
    return usual


def spread(column: np.ndarray) -> float:
    """The standard deviation of what varies from sample to sample."""
    return float(max(column.std(), 1e-6))
