"""The step of a sensor that rounds to multiples of a step, found from its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_VALUES = 3000
"""How many values are used at most; more do not improve the estimate."""
MOST_PARTS = 256
"""The smallest distance between two values may be up to this many steps."""
INLIERS = 0.98
"""The fraction of the values that must be multiples of the step."""
FINEST = 1e-5
"""Printed digits finer than this fraction of the range count as continuous values."""
FLOAT32 = 2e-7
"""Rounding errors of values computed in single precision, relative to the largest."""


@dataclass(frozen=True)
class Quantisation:
    """The distance between neighbouring values, and whether it is only that of the printed digits."""

    step: float
    printed: bool
    """Whether the step is that of the last printed digit: the sensor may be finer."""


def find_step(values: np.ndarray, resolution: float = 0.0) -> Quantisation | None:
    """The largest step that the values are multiples of, up to an offset; None if they are continuous.

    A step is accepted if the probability that so many values lie so close to its multiples by chance is below 1e-6.

    Args:
        values: The values of a sensor; those that are not finite are left out.
        resolution: The value of the last printed digit; 0 if it is unknown.
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
        # Rounding to printed digits may distort the smallest distance more than the next ones.
        steps = [_largest(distinct, float(gap), tolerance) for gap in np.sort(np.diff(distinct))[:3]]
        if any(steps):
            return Quantisation(max(steps), printed=bool(max(steps) < 1.5 * resolution))
    if resolution > max(FINEST * float(np.ptp(values)), 4 * inexact):
        return Quantisation(resolution, printed=True)
    return None


def _largest(distinct: np.ndarray, gap: float, tolerance: float) -> float:
    """The largest step that fits and of which `gap` is a multiple; 0 if there is none."""
    for parts in range(1, MOST_PARTS + 1):
        step = _refined(distinct, gap / parts)
        if step < 3.9 * tolerance:
            break
        if _fits(distinct, step, tolerance):
            return step
    return 0.0


def _merged(values: np.ndarray, width: float) -> np.ndarray | None:
    """Sorted values, those closer than `width` replaced by their mean; None if these groups are not separate."""
    groups = np.split(values, np.flatnonzero(np.diff(values) > width) + 1)
    if any(np.ptp(group) > 1.5 * width for group in groups):
        return None
    return np.array([group.mean() for group in groups])


def _refined(distinct: np.ndarray, step: float) -> float:
    """The step that fits best near a first estimate: short distances first, whose multiples are certain."""
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
    """The distance of each value to the farthest one above it that is within `reach`."""
    farthest = np.searchsorted(distinct, distinct + reach, side="right") - 1
    return distinct[farthest] - distinct


def rounding_errors(values: np.ndarray, step: float) -> np.ndarray:
    """The distance of values from the nearest multiple of the step, in steps, with the offset that fits best."""
    offset = np.angle(np.exp(2j * np.pi * values / step).sum()) / (2 * np.pi)
    return (values / step - offset + 0.5) % 1 - 0.5


def _fits(distinct: np.ndarray, step: float, tolerance: float) -> bool:
    """Whether the values are multiples of the step, more of them than by chance."""
    share = np.mean(np.abs(rounding_errors(distinct, step)) * step <= 1.5 * tolerance)
    by_chance = min(3 * tolerance / step, 1.0)
    return bool(share >= INLIERS and by_chance ** (len(distinct) - 2) < 1e-6)
