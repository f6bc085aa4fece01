"""End stops of a machine, found in recordings: positions that stay at their extreme although they are pushed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from vfpilco.data.trial import Trial
from vfpilco.recordings.free_motion import AHEAD, FIRST, FreeMotion
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.sensors import std_at_rest

NEAR = 0.03
"""Samples this close to an extreme are at it, as a fraction of the range of the position; or three standard deviations
of the sensor, if that is more."""
STAY = 3
"""The fewest samples in a row that are a stay."""
PUSHED = 3.0
"""How far a position would have moved on during a stay, in units of that tolerance, by a model of the free motion."""

PUSHED_AHEAD = 4.0
"""The same for the place that the free motion would have reached a few samples ahead, with the speed that it gains."""
SURE = 2.0
"""The same, in units of the largest error of that prediction where nothing stops the position."""


@dataclass(frozen=True)
class Stops:
    """Where the positions of a machine cannot go beyond; infinite where there is no stop.

    Example:
        >>> import numpy as np
        >>> Stops((-np.inf,), (0.2,), (0.01,)).limited(np.array([[0.1]]), np.array([[0.3]])).round(3)
        array([[0.1]])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    tolerance: tuple[float, ...]
    """How close to a stop a sample is at it, per position."""

    def limited(self, q: Any, change: Any) -> Any:
        """The change of positions that cannot go beyond the stops; positions that are there already may come back."""
        xp = change.__array_namespace__()
        low, high = (xp.asarray(side, dtype=change.dtype) for side in (self.low, self.high))
        return xp.clip(change, xp.minimum(low - q, xp.zeros_like(q)), xp.maximum(high - q, xp.zeros_like(q)))

    def reached(self, q: Float[np.ndarray, "N d_q"]) -> Bool[np.ndarray, "N d_q"]:
        """Which positions are at a stop."""
        tolerance = np.asarray(self.tolerance)
        return (q <= np.asarray(self.low) + tolerance) | (q >= np.asarray(self.high) - tolerance)

    def at(self, positions: Any) -> Stops:
        """Those of some of the positions."""
        return Stops(*(tuple(np.asarray(part)[positions].tolist()) for part in (self.low, self.high, self.tolerance)))

    def sentence(self, machine: Machine) -> str:
        """Where they are, in words."""
        places = [
            f"{p.name} at {place:.3g} {p.unit}"
            for p, sides in zip(machine.positions, zip(self.low, self.high, strict=True), strict=True)
            for place in sides
            if np.isfinite(place)
        ]
        return f"End stops: {', '.join(places)}"


def find_stops(explored: Sequence[Trial], later: Sequence[Trial], machine: Machine) -> Stops | None:
    """The end stops of a machine; None if there are none.

    A stop is the extreme of a position where it stayed for some samples, although a linear model of the motion away
    from there moves it on, far beyond what a sensor could miss: sample by sample, or in a few samples without what was
    measured meanwhile, if this is also further than the model errs anywhere else. A motion that only turns back is
    explained by the model.

    Args:
        explored: Executions whose inputs did not depend on the measurements: a controller stays at its goal.
        later: Other executions; a stop that one of them went through is none.
        machine: The machine.
    """
    long_enough = [trial for trial in explored if trial.steps > 2 * STAY]
    if not long_enough:
        return None
    measured = np.concatenate([trial.q for trial in long_enough])
    everywhere = np.concatenate([measured, *(trial.q for trial in later)])
    std = std_at_rest(machine.sensor, len(machine.positions)) or (0.0,) * len(machine.positions)
    tolerance = np.maximum(NEAR * np.ptp(measured, axis=0), 3 * np.asarray(std))
    stops = np.full((2, measured.shape[1]), [[-np.inf], [np.inf]])
    for i in (i for i, p in enumerate(machine.positions) if p.commanded is None):
        for side, end in ((-1, measured[:, i].min()), (1, measured[:, i].max())):
            place = _stop(long_enough, i, side, float(end), float(tolerance[i]))
            if place is not None and np.all(side * (everywhere[:, i] - place) <= 2 * tolerance[i]):
                stops[(side + 1) // 2, i] = place
    if not np.isfinite(stops).any():
        return None
    return Stops(*(tuple(row.tolist()) for row in (*stops, tolerance)))


def _stop(trials: Sequence[Trial], i: int, side: int, end: float, tolerance: float) -> float | None:
    """Where a position is stopped: the median of the stay at its extreme where it was pushed on most; None: nowhere."""
    stays = [(trial, *stay) for trial in trials for stay in _stays(np.abs(trial.q[:, i] - end) <= tolerance)]
    if not stays:
        return None
    predicted = _free_motion(trials, i, end, tolerance)
    pushes = [side * predicted(trial, np.arange(first, last)).sum() for trial, first, last in stays]
    if max(pushes) <= PUSHED * tolerance:
        pushes = _pushes_ahead(trials, stays, i, side, end, tolerance)
        if max(pushes) <= 1:
            return None
    trial, first, last = stays[int(np.argmax(pushes))]
    return float(np.median(trial.q[first : last + 1, i]))


def _pushes_ahead(
    trials: Sequence[Trial], stays: Sequence[tuple[Trial, int, int]], i: int, side: int, end: float, tolerance: float
) -> list[float]:
    """How far the free motion would have gone on a few samples ahead in each stay, in units of what shows a stop."""
    other = min((trial.q[:, i] * side).min() for trial in trials) * side
    free = [np.all([np.abs(trial.q[:, i] - place) > tolerance for place in (end, other)], axis=0) for trial in trials]
    motion = FreeMotion.of(trials, i, free)
    needed = np.maximum(PUSHED_AHEAD * tolerance, SURE * motion.largest_errors(trials, free))
    pushes = []
    for trial, first, last in stays:
        starts = range(max(first - 1, FIRST), last - 1)
        ahead = [side * motion.above(trial, np.array([t]), min(AHEAD, last - t))[1:, 0] for t in starts]
        pushes.append(max((float(np.max(far / needed[1 : 1 + len(far)])) for far in ahead), default=0.0))
    return pushes


def _stays(near: Bool[np.ndarray, "N"]) -> Iterator[tuple[int, int]]:
    """First and last sample of every stretch of at least `STAY` samples, but those at the start, before any motion."""
    edges = np.flatnonzero(np.diff(np.r_[False, near, False]))
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        if first >= 2 and after - first >= STAY:
            yield int(first), int(after) - 1


def _free_motion(trials: Sequence[Trial], i: int, end: float, tolerance: float) -> Any:
    """A linear model of the change of a position, fitted by least squares to the samples away from its extreme."""

    def regressors(trial: Trial, t: np.ndarray) -> np.ndarray:
        q, u = trial.q, trial.u
        past = [np.ones((len(t), 1)), q[t], q[t] - q[t - 1], q[t - 1] - q[t - 2], u[t], u[t - 1]]
        return np.concatenate(past, axis=1)

    rows, targets = [], []
    for trial in trials:
        t = np.arange(2, trial.steps)
        free = np.all(np.abs(trial.q[[t, t + 1], i] - end) > tolerance, axis=0)
        rows.append(regressors(trial, t[free]))
        targets.append(trial.q[t[free] + 1, i] - trial.q[t[free], i])
    x, y = np.concatenate(rows), np.concatenate(targets)
    size = np.sqrt(np.mean(x**2, axis=0)) + 1e-12 if len(x) else np.ones(x.shape[1])
    scaled = x / size
    weights = np.linalg.solve(scaled.T @ scaled + 1e-6 * (len(x) + 1) * np.eye(len(size)), scaled.T @ y) / size
    return lambda trial, t: regressors(trial, t) @ weights
