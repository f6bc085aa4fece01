"""Which samples of a recording show how its inputs act: where the positions move, and what the inputs add."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfpilco.recordings.motion import FIRST

Segment = tuple[np.ndarray, np.ndarray]
"""Positions (n, d_q) and inputs (n, d_u) without gaps."""
LEAST_ROWS = 18
"""The fewest samples of motion that are used."""
LEAST_SAMPLES = FIRST + LEAST_ROWS
"""The length of the shortest segment that is used."""
MOST_SAMPLES = 100
"""Longer segments are cut: the work grows with the cube of the length."""
MOST_PIECES = 4
MOVES = 4.0
"""A position moves if it covered this many times the error of its sensor in the last `FIRST` samples."""


def pieces(segments: Sequence[Segment]) -> list[Segment]:
    """Parts of the segments, neither too long nor too short: those in which the positions move most."""
    parts = []
    for q, u in segments:
        cuts = -(-(len(q) - FIRST) // MOST_SAMPLES)
        edges = np.linspace(0, len(q) - FIRST, max(cuts, 1) + 1).round().astype(int)
        parts += [(q[a : b + FIRST], u[a : b + FIRST]) for a, b in itertools.pairwise(edges) if b - a >= LEAST_ROWS]
    if len(parts) <= MOST_PIECES:
        return parts
    speeds = np.array([np.sqrt(np.mean(np.diff(q, axis=0) ** 2, axis=0)) for q, _ in parts])
    movement = (speeds / np.maximum(speeds.mean(0), 1e-300)).sum(1)
    return [parts[i] for i in np.sort(np.argsort(-movement, kind="stable")[:MOST_PIECES])]


def moving(q: np.ndarray, error: float) -> np.ndarray:
    """Whether a position (n,) moves by more than its sensor's error, at each sample from `FIRST` to the last but one.

    Only earlier samples decide: a choice by later ones would make the errors of the chosen ones predictable.
    """
    covered = np.ptp(np.lib.stride_tricks.sliding_window_view(q, FIRST + 1), axis=1)[:-1]
    return (covered > 0) & (covered >= MOVES * error)


@dataclass(frozen=True)
class Freedom:
    """How far the inputs of a recording are determined by what was measured and applied before."""

    new: float = 1.0
    """Standard deviation of what the last inputs and positions do not predict, relative to that of the input."""
    feedback: float = 0.0
    """The fraction of its variance that the measurement at the same sample explains."""

    @classmethod
    def of(cls, q: np.ndarray, u: np.ndarray) -> Freedom:
        """Of positions (n, d_q) and inputs (n, d_u): that of the freest input, and the strongest feedback."""
        t = np.arange(3, len(q) - 1)
        past = np.concatenate(
            [np.ones((len(t), 1)), u[t - 1], u[t - 2], u[t - 3], q[t - 1], q[t - 1] - q[t - 2], q[t - 2] - q[t - 3]], 1
        )
        now = q[t] - 2 * q[t - 1] + q[t - 2]
        new, surprise = _residual(u[t], past), _residual(now, past)
        left = _residual(new, surprise)
        size = np.maximum((new**2).sum(0), 1e-300)
        degrees = max(len(t) - past.shape[1], 1)
        relative = np.sqrt(size / degrees / np.maximum(u[t].var(0), 1e-300))
        return cls(float(relative.max()), float((1 - (left**2).sum(0) / size).max()))


def _residual(columns: np.ndarray, known: np.ndarray) -> np.ndarray:
    """What is left of columns after a linear regression on known ones."""
    scaled = known / np.maximum(np.linalg.norm(known, axis=0), 1e-300)
    return columns - scaled @ np.linalg.lstsq(scaled, columns, rcond=1e-10)[0]
