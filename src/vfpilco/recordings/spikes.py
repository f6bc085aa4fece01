"""Spikes: single samples, or two, where a position jumps away and back as no machine moves."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

FAR = 20.0
"""How many typical steps of its position a spike is away from the samples around it."""
BACK = 0.2
"""The samples before and after a spike differ by less than this fraction of its distance."""
FEW = 4
"""The largest steps, so many, are not typical: those of a spike or two."""
END, END_STEPS = 30.0, 300.0
"""A first or last sample is a spike if it is away from all others by so many times their range, and their largest step.
"""
LEAST = 8
"""Fewer samples do not show what is typical."""
TURN = 2 * np.pi
MOST_TURNS = 4
"""An angle that jumps by more turns than this did not wrap."""


def spikes(values: Float[np.ndarray, "n"], angle: bool = False) -> Bool[np.ndarray, "n"]:
    """Which values of a position are spikes; NaN are skipped.

    Example:
        >>> q = np.sin(0.1 * np.arange(30))
        >>> q[12] = 900.0
        >>> np.flatnonzero(spikes(q)).tolist()
        [12]
    """
    known = np.flatnonzero(np.isfinite(values))
    q, found = values[known], np.zeros(len(values), dtype=bool)
    if len(q) < LEAST:
        return found
    sizes = np.abs(_change(q[:-1], q[1:], angle))
    moving = np.sort(sizes[sizes > 0])[:-FEW]
    if not len(moving) or sizes.max() <= FAR * np.quantile(moving, 0.75):
        return found
    for length in (1, 2):
        begins = 1 + np.flatnonzero(_isolated(q, sizes, FAR * float(np.quantile(moving, 0.75)), length, angle))
        for i in range(length):
            found[known[begins + i]] = True
        if not angle:
            found[known[:length]] |= _is_away(q[:length], q[length:])
            found[known[-length:]] |= _is_away(q[-length:], q[:-length])
    return found


def _isolated(q: np.ndarray, sizes: np.ndarray, far: float, length: int, angle: bool) -> np.ndarray:
    """Whether `length` samples from the second one on, the third one, … are far from those before and after them."""
    before, after = q[: -1 - length], q[1 + length :]
    samples = [q[1 + i : len(before) + 1 + i] for i in range(length)]
    away = np.min([np.abs(_change(one, other, angle)) for one in samples for other in (before, after)], axis=0)
    around = np.pad(sizes, 1)  # the steps that lead to the sample before, and on from the sample after
    near = np.maximum(around[: len(before)], around[2 + length :][: len(before)])
    return (away > np.maximum(far, FAR * near)) & (np.abs(_change(before, after, angle)) < BACK * away)


def _is_away(ends: np.ndarray, others: np.ndarray) -> bool:
    """Whether the first samples, or the last ones, are far from all others."""
    low, high = others.min(), others.max()
    far = max(END * (high - low), END_STEPS * np.abs(np.diff(others)).max())
    return far > 0 and bool(np.all(np.maximum(low - ends, ends - high) > far))


def _change(q: np.ndarray, other: np.ndarray, angle: bool) -> np.ndarray:
    """How far it is from `q` to `other`; for an angle the short way round."""
    change = other - q
    if not angle:
        return change
    return np.where(np.abs(change) > MOST_TURNS * TURN, change, change - TURN * np.round(change / TURN))
