"""What a policy does: its inputs over position and speed, around the state that a trial ended in."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.controller import LearnedPolicy
from vfpilco.report.packing import pack
from vfpilco.report.source import Source
from vfpilco.trial import Trial

GRID = 41
MOST_MAPS = 36
"""Pairs of position and input that are mapped at most."""
MARGIN = 0.15
"""How far beyond what was visited a map goes, as a share of it."""


def policy_maps(source: Source, row: dict[str, Any], trial: Trial) -> list[dict[str, Any]]:
    """Per position the map of every input over that position and its speed, the others as they ended."""
    if row["kind"] != "policy" or row["trial"] not in source.folder.policies() or trial.steps < 3:
        return []
    policy = source.folder.policy(row["trial"])
    shown = range(len(source.positions))[: max(1, MOST_MAPS // len(source.inputs))]
    return [_map(policy, trial, i) for i in shown]


def _map(policy: LearnedPolicy, trial: Trial, i: int) -> dict[str, Any]:
    speed = np.gradient(trial.judged[:, i], trial.sampling_time)
    x, y = _axis(trial.q[:, i]), _axis(speed, through_zero=True)
    where, fast = np.meshgrid(x, y)
    inputs = policy.after(histories(policy, trial, i, where.ravel(), fast.ravel()), sample=trial.steps)
    return {
        "x": [x[0], x[-1]],
        "y": [y[0], y[-1]],
        "u": [pack(column.reshape(where.shape)) for column in inputs.T],
        "path": [pack(trial.q[:, i]), pack(speed)],
    }


def histories(
    policy: LearnedPolicy, trial: Trial, i: int, where: np.ndarray, fast: np.ndarray, length: int = 12
) -> np.ndarray:
    """Measurements (N, length, measures) that end in positions `where` of position i, reached at speeds `fast`."""
    d_q = policy.representation.d_q
    past = np.zeros((len(where), length, policy.measures))
    past[:, :, :d_q] = trial.q[-1]
    back = np.arange(length - 1, -1, -1) * trial.sampling_time
    past[:, :, i] = where[:, None] - fast[:, None] * back
    if policy.measures > d_q:
        past[:, :, d_q + i] = fast[:, None]
    return past


def _axis(visited: np.ndarray, through_zero: bool = False) -> np.ndarray:
    low, high = float(visited.min()), float(visited.max())
    if through_zero:
        high = max(abs(low), abs(high))
        low = -high
    wider = MARGIN * max(high - low, 1e-6)
    return np.linspace(low - wider, high + wider, GRID)
