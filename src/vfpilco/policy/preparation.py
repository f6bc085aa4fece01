"""Preparing a policy for a machine: the units of its inputs, from the exploration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vfpilco.data.trial import Trial
from vfpilco.policy.base import PolicyInputs
from vfpilco.state.base import State
from vfpilco.state.sound import sound
from vfpilco.tasks.task import Task

MARGIN = 0.3
"""How far from the angles to be followed basis functions start, in rad."""


def policy_inputs(state: State, task: Task, explored: Sequence[Trial]) -> PolicyInputs:
    """What a policy has to know, with the units of its inputs fixed by the exploration."""
    x = np.concatenate([_seen(state, trial) for trial in explored])
    kinds = state.policy_kinds()
    units = [spread(column) if k == "rate" else 1.0 for k, column in zip(kinds, x.T, strict=True)]
    positions = task.machine.positions
    for n, i in enumerate(i for i, k in enumerate(kinds) if k == "input"):
        units[i] = float(task.machine.limits[n % len(task.machine.limits)]) / 2
    scales = [p.scale for p in positions if not p.angle]
    for n, i in enumerate(i for i, k in enumerate(kinds) if k == "position"):
        units[i] = scales[n % len(scales)]
    turns = [p.bounds or (-np.pi, np.pi) for p in positions if p.angle]
    if task.reference is not None:
        followed = task.reference[:, task.machine.angles].T
        turns = [(float(r.min()) - MARGIN, float(r.max()) + MARGIN) for r in followed]
        errors = np.concatenate([task.reference[: len(trial.q)] - trial.q for trial in explored])
        kinds += ["error"] * errors.shape[1]
        units += [spread(column) for column in errors.T]
    turns *= kinds.count("circle") // (2 * len(turns) or 1)
    circle = tuple(k == "circle" for k in kinds)
    return PolicyInputs(tuple(units), tuple(task.machine.limits.tolist()), circle, tuple(turns))


def _seen(state: State, trial: Trial) -> np.ndarray:
    """What the policy would have seen in a trial, without spikes of the sensor."""
    pairs = state.pairs(trial)
    return np.asarray(state.seen(pairs.state))[sound(state, trial, pairs.t)]


def reference_errors(task: Task, trial: Trial) -> np.ndarray | None:
    """The spread of a trial's errors from the reference, per position; None without a reference."""
    if task.reference is None:
        return None
    return np.array([spread(column) for column in (task.reference[: len(trial.q)] - trial.q).T])


def spread(column: np.ndarray) -> float:
    """The standard deviation of what varies from sample to sample."""
    return float(max(column.std(), 1e-6))
