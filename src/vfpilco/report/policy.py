"""Maps of a policy: its inputs over position and speed, around the state that a trial ended in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.report.packing import pack
from vfpilco.report.source import Source

GRID = 41
"""Points of a map in each direction."""
MOST_MAPS = 36
"""Pairs of position and input that are mapped at most."""
MARGIN = 0.15
"""How far a map extends beyond what was visited, as a fraction of that."""
HISTORY = 12
"""Samples that the policy sees before it is evaluated."""


def policy_maps(source: Source, result: TrialResult, trial: Trial) -> list[dict[str, Any]]:
    """For each position a map of every input over that position and its speed; the others stay where they ended.

    A policy that sees past inputs sees the last ones of the trial.
    """
    if result.trial is None or result.trial not in source.folder.policies() or trial.steps < 3:
        return []
    policy = source.folder.policy(result.trial)
    shown = range(len(source.positions))[: max(1, MOST_MAPS // len(source.inputs))]
    return [_packed(policy_map(policy, trial, i)) for i in shown]


class PolicyMap(NamedTuple):
    """The inputs of a policy over one position and its speed."""

    x: Float[np.ndarray, "N"]
    """Positions."""
    y: Float[np.ndarray, "N"]
    """Speeds."""
    u: Float[np.ndarray, "d_u N N"]
    """Each input, a row per speed."""
    path: Float[np.ndarray, "2 samples"]
    """Position and speed in the trial."""


def policy_map(policy: LearnedPolicy, trial: Trial, i: int) -> PolicyMap:
    """The inputs of a policy over position `i` and its speed; the other positions stay where a trial ended."""
    speed = np.gradient(trial.evaluated[:, i], trial.sampling_time)
    x, y = _axis(trial.q[:, i]), _axis(speed, symmetric=True)
    positions, speeds = np.meshgrid(x, y)
    past = histories(policy, trial, i, positions.ravel(), speeds.ravel())
    inputs = policy.after(past, sample=trial.steps, applied=last_inputs(trial))
    return PolicyMap(x, y, inputs.T.reshape(-1, *positions.shape), np.stack([trial.q[:, i], speed]))


def _packed(drawn: PolicyMap) -> dict[str, Any]:
    return {
        "x": [drawn.x[0], drawn.x[-1]],
        "y": [drawn.y[0], drawn.y[-1]],
        "u": [pack(each) for each in drawn.u],
        "path": [pack(each) for each in drawn.path],
    }


def histories(
    policy: LearnedPolicy, trial: Trial, i: int, positions: Float[np.ndarray, "N"], speeds: Float[np.ndarray, "N"]
) -> Float[np.ndarray, "N samples measures"]:
    """Measurements in which position `i` arrives at each of `positions` with a constant speed.

    Args:
        policy: The policy that is going to receive them.
        trial: The other positions stay where this trial ended.
        i: The position that moves.
        positions: Where it arrives.
        speeds: How fast it moves.

    Returns:
        One history per pair of position and speed.
    """
    d_q = policy.state.signals.d_q
    past = np.zeros((len(positions), HISTORY, policy.measures))
    past[:, :, :d_q] = trial.q[-1]
    back = np.arange(HISTORY - 1, -1, -1) * trial.sampling_time
    past[:, :, i] = positions[:, None] - speeds[:, None] * back
    if policy.measures > d_q:
        past[:, :, d_q + i] = speeds[:, None]
    return past


def last_inputs(trial: Trial) -> Float[np.ndarray, "steps d_u"]:
    """The inputs that led to the end of a trial, one less than a history has samples; zeros before the first."""
    u = trial.u[-(HISTORY - 1) :]
    return np.concatenate([np.zeros((HISTORY - 1 - len(u), u.shape[1])), u])


def _axis(visited: np.ndarray, symmetric: bool = False) -> np.ndarray:
    """The points of an axis that contains everything that was visited; a symmetric one has zero in its middle."""
    low, high = float(visited.min()), float(visited.max())
    if symmetric:
        high = max(abs(low), abs(high))
        low = -high
    margin = MARGIN * max(high - low, 1e-6)
    return np.linspace(low - margin, high + margin, GRID)
