"""The step response of a trial: how fast and how exactly a position reached where it should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

TOLERANCE = 0.05
"""A position has settled when it stays within this fraction of its step around the target."""
SMALLEST = 0.1
"""A step smaller than this fraction of how far the position moved is none: only the error at the end is meaningful."""
LAST = 0.1
"""The fraction of the trial over which the error at the end is averaged."""


@dataclass(frozen=True)
class StepResponse:
    """How a position reached its set point."""

    error: float
    """Mean distance from the target at the end, in the unit of the position, with its sign."""
    rise: float | None = None
    """Seconds from 10 to 90 % of the way; None if it did not get that far."""
    overshoot: float | None = None
    """How far it went beyond the target, as a fraction of the way."""
    settling: float | None = None
    """Seconds until it stayed near the target; None if it did not."""


def set_point(target: Float[np.ndarray, "samples"] | None) -> float | None:
    """The value that a target has from its second sample on; None if it changes."""
    if target is None or not np.all(np.isfinite(target)) or len(target) < 2 or np.ptp(target[1:]) > 0:
        return None
    return float(target[-1])


def step_response(
    q: Float[np.ndarray, "samples"], target: Float[np.ndarray, "samples"] | None, sampling_time: float, angle: bool
) -> StepResponse | None:
    """The step response of a position.

    Args:
        q: The position, sample by sample.
        target: Where it should be.
        sampling_time: Seconds between samples.
        angle: Whether full turns do not matter: then the target nearest to the end is meant.

    Returns:
        None if there is no set point; only the error if the position started there.
    """
    goal = set_point(target)
    if goal is None:
        return None
    if angle:
        goal += 2 * np.pi * np.round((q[-1] - goal) / (2 * np.pi))
    error = float(np.mean(q[-max(1, round(LAST * len(q))) :] - goal))
    way = goal - q[0]
    if abs(way) <= SMALLEST * np.ptp(q) or way == 0:
        return StepResponse(error)
    covered = (q - q[0]) / way
    begun, done = (_first(covered >= share) for share in (0.1, 0.9))
    outside = np.flatnonzero(np.abs(covered - 1) > TOLERANCE)
    settled = 0 if not len(outside) else int(outside[-1]) + 1
    return StepResponse(
        error=error,
        rise=None if begun is None or done is None else (done - begun) * sampling_time,
        overshoot=max(0.0, float(covered.max()) - 1),
        settling=None if settled >= len(q) else settled * sampling_time,
    )


def _first(where: np.ndarray) -> int | None:
    return int(np.argmax(where)) if where.any() else None
