"""The step of a sensor that measures in whole steps, found from the values it gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_VALUES = 3000
"""So many values are looked at; more do not make it clearer."""
MOST_PARTS = 256
"""The smallest distance between two values may be up to so many steps."""
INLIERS = 0.98
"""This share of the values has to lie on whole steps."""
WORTH_TELLING = 1e-5
"""Printed digits finer than this share of the range are as good as continuous."""
FLOAT32 = 2e-7
"""What values lose, relative to the largest, if they were computed in single precision."""


@dataclass(frozen=True)
class Quantisation:
    """The distance between neighbouring values, and whether it is that of the printed digits only."""

    step: float
    printed: bool
    """The sensor may be finer: no more digits were printed."""


def find_step(values: np.ndarray, resolution: float = 0.0) -> Quantisation | None:
    """The largest step that the values are whole multiples of, up to an offset; None if they are continuous.

    `resolution` is what the last printed digit is worth (0: unknown). A step is believed if so many values would not
    lie so close to its multiples by chance, about one time in a million.
    """
    values = np.unique(values[np.isfinite(values)])
    if len(values) > MOST_VALUES:
        values = np.sort(np.random.default_rng(0).choice(values, MOST_VALUES, replace=False))
    if len(values) < 3:
        return None
    inexact = FLOAT32 * float(np.max(np.abs(values)))
    tolerance = resolution / 2 * (1 + 1e-6) + inexact
    distinct = _merged(values, 2 * tolerance)
    if distinct is not None and len(distinct) >= 3:
        # The smallest distance may be spoiled by the printed digits more than the next ones.
        steps = [_largest(distinct, float(gap), tolerance) for gap in np.sort(np.diff(distinct))[:3]]
        if any(steps):
            return Quantisation(max(steps), printed=bool(max(steps) < 1.5 * resolution))
    if resolution > max(WORTH_TELLING * float(np.ptp(values)), 4 * inexact):
        return Quantisation(resolution, printed=True)
    return None


def _largest(distinct: np.ndarray, gap: float, tolerance: float) -> float:
    """The largest step that fits and of which `gap` is a whole multiple; 0 if none does."""
    for parts in range(1, MOST_PARTS + 1):
        step = _refined(distinct, gap / parts)
        if step < 3.9 * tolerance:
            break
        if _fits(distinct, step, tolerance):
            return step
    return 0.0


def _merged(values: np.ndarray, width: float) -> np.ndarray | None:
    """Sorted values with those closer than `width` put together; None if they run into each other."""
    groups = np.split(values, np.flatnonzero(np.diff(values) > width) + 1)
    if any(np.ptp(group) > 1.5 * width for group in groups):
        return None
    return np.array([group.mean() for group in groups])


def _refined(distinct: np.ndarray, step: float) -> float:
    """The step that fits best near a first estimate: short distances first, whose whole multiples are certain."""
    reach, span = 4 * step, float(distinct[-1] - distinct[0])
    while True:
        near = _distances(distinct, reach)
        multiples = np.round(near / step)
        if multiples.any():
            step = float(near @ multiples / (multiples @ multiples))
        if reach >= span:
            return step
        reach *= 2


def _distances(distinct: np.ndarray, reach: float) -> np.ndarray:
    """Distances up to `reach` between values, each value's to the farthest within it."""
    farthest = np.searchsorted(distinct, distinct + reach, side="right") - 1
    return distinct[farthest] - distinct


def from_whole_steps(values: np.ndarray, step: float) -> np.ndarray:
    """How far values are from the nearest whole step, in steps, with the offset that fits best."""
    offset = np.angle(np.exp(2j * np.pi * values / step).sum()) / (2 * np.pi)
    return (values / step - offset + 0.5) % 1 - 0.5


def _fits(distinct: np.ndarray, step: float, tolerance: float) -> bool:
    """Whether the values lie on whole steps, more of them than by chance."""
    share = np.mean(np.abs(from_whole_steps(distinct, step)) * step <= 1.5 * tolerance)
    by_chance = min(3 * tolerance / step, 1.0)
    return bool(share >= INLIERS and by_chance ** (len(distinct) - 2) < 1e-6)
