"""What a recording says about a machine: rate, sensors, inputs, delay; and the settings that follow."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfpilco.recordings.channels import Channels
from vfpilco.recordings.delay import LEAST_SAMPLES, Delay, find_delay
from vfpilco.recordings.logs import Recording
from vfpilco.recordings.quantisation import Quantisation, find_step
from vfpilco.recordings.suggestion import suggest
from vfpilco.recordings.times import usual_interval
from vfpilco.recordings.values import SATURATED, TURN, runs


@dataclass(frozen=True)
class Sampling:
    """How evenly samples were taken, in seconds."""

    interval: float
    """The median."""
    jitter: float
    """Standard deviation of the intervals, gaps apart."""
    worst: float
    """The largest difference from the median, gaps apart."""

    @property
    def rate(self) -> float:
        """Samples per second."""
        return 1 / self.interval


@dataclass(frozen=True)
class PositionSeen:
    """What is seen of a position, in its unit."""

    name: str
    unit: str
    low: float
    high: float
    wraps: bool
    """It jumps by a whole turn, as an angle does that is told within one."""
    quantisation: Quantisation | None
    noise: float | None
    """Standard deviation of the measurement errors at rest; None if it cannot be told."""
    timing: float | None
    """Standard deviation of the sampling instants that the movement shows, in seconds."""
    movement: float
    """Root mean square of the change from sample to sample."""
    errors: np.ndarray
    """The most probable measurement errors of the first stretch, sample by sample; empty if they cannot be told."""

    @property
    def rounding(self) -> float:
        """The standard deviation of an error that is even within a step."""
        return 0.0 if self.quantisation is None else self.quantisation.step / float(np.sqrt(12))


@dataclass(frozen=True)
class InputSeen:
    """What is seen of an input, in its unit."""

    name: str
    unit: str
    low: float
    high: float
    saturated: float
    """Share of the samples at its limits, or at its own extremes where the limits are not known."""
    held: float
    """For how many samples it keeps a value on average; not finite if it never changes."""


@dataclass(frozen=True)
class Inspection:
    """Everything that a recording, or several of one machine, says."""

    samples: int
    sampling: Sampling
    positions: tuple[PositionSeen, ...]
    inputs: tuple[InputSeen, ...]
    delay: Delay

    def suggested(self) -> dict[str, Any]:
        """Settings for this machine: `m_q` and `m_u`, and for its task a `sensor` (None if it cannot be told)."""
        found = suggest(self.positions, self.delay)
        return {"m_q": found.m_q, "m_u": found.m_u, "sensor": found.sensor}

    def reasons(self) -> dict[str, str]:
        """Why each of them is suggested, in a sentence."""
        return suggest(self.positions, self.delay).reasons


def inspect_recordings(recordings: Sequence[Recording]) -> Inspection:
    """What recordings of one machine say together."""
    parts = [(r.times, r.raw, r.u) for r in recordings]
    resolution = tuple(max(each) for each in zip(*(r.resolution for r in recordings), strict=True))
    return _inspect(parts, recordings[0].channels, resolution)


def inspect(
    times: np.ndarray,
    positions: np.ndarray,
    inputs: np.ndarray,
    channels: Channels,
    resolution: Sequence[float] | None = None,
) -> Inspection:
    """What one recording says: times (n,), positions (n, d_q), and inputs (n, d_u) or (n - 1, d_u).

    Values that are not finite are left out. `resolution` is what the last printed digit of each position is worth.
    """
    if len(inputs) == len(positions) - 1:
        inputs = np.concatenate([inputs, np.full((1, inputs.shape[1]), np.nan)])
    return _inspect([(times, positions, inputs)], channels, resolution or (0.0,) * positions.shape[1])


def _inspect(parts: list[tuple], channels: Channels, resolution: Sequence[float]) -> Inspection:
    sampling = _sampling([times for times, _, _ in parts])
    stretches = [piece for times, q, u in parts for piece in _stretches(times, q, u, channels.angles, sampling)]
    free = [i for i, p in enumerate(channels.positions) if p.commanded is None]
    delay, evidence = find_delay(stretches, channels.angles, free)
    positions = []
    for i, p in enumerate(channels.positions):
        raw = np.concatenate([q[:, i] for _, q, _ in parts])
        steps = np.concatenate([np.diff(q[:, i]) for q, _ in stretches] or [np.zeros(1)])
        low, high = _range(raw)
        seen = evidence[i] or None
        # Stretches may be of different quality: the middle one is not spoiled by a bad one.
        noise = None if seen is None else float(np.median([e.noise for e in seen]))
        timing = None if seen is None else float(np.median([e.timing for e in seen])) * sampling.interval
        wraps = any(_wraps(q[:, i]) for _, q, _ in parts)
        step, movement = find_step(raw, resolution[i]), float(np.sqrt(np.mean(steps**2)))
        errors = np.empty(0) if seen is None else seen[0].errors
        positions.append(PositionSeen(p.name, p.unit, low, high, wraps, step, noise, timing, movement, errors))
    u = np.concatenate([u for _, _, u in parts])
    inputs = tuple(
        InputSeen(c.name, c.unit, *_range(column), *_use(column, c.limit))
        for c, column in zip(channels.inputs, u.T, strict=True)
    )
    return Inspection(sum(len(q) for _, q, _ in parts), sampling, tuple(positions), inputs, delay)


def _sampling(times: list[np.ndarray]) -> Sampling:
    usual = float(np.median([usual_interval(t) for t in times]))
    intervals = np.concatenate([np.diff(t) for t in times])
    regular = intervals[(intervals > 0) & (intervals < 1.5 * usual)]
    if not len(regular):
        return Sampling(usual, 0.0, 0.0)
    return Sampling(usual, float(regular.std()), float(np.max(np.abs(regular - usual))))


def _stretches(
    times: np.ndarray, q: np.ndarray, u: np.ndarray, angles: tuple[bool, ...], sampling: Sampling
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The parts without gaps or missing values, angles followed by whole turns."""
    whole = np.isfinite(q).all(1) & np.isfinite(times)
    whole[:-1] &= np.isfinite(u[:-1]).all(1)  # What the last row applies is not seen, so it may lack inputs.
    intervals = np.diff(times, prepend=times[0] - sampling.interval) / sampling.interval
    cut = ~((intervals > 0) & (intervals < 1.5))
    u = np.where(np.isfinite(u), u, np.roll(u, 1, axis=0))  # The last one is taken to be held.
    found = []
    for begin, end in runs(whole):
        edges = [begin, *(i for i in range(begin + 1, end) if cut[i]), end]
        for a, b in itertools.pairwise(edges):
            if b - a >= LEAST_SAMPLES:
                unwrapped = np.where(angles, np.unwrap(q[a:b], axis=0), q[a:b])
                found.append((unwrapped, u[a:b]))
    return found


def _range(values: np.ndarray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _wraps(values: np.ndarray) -> bool:
    """Whether values stay within a turn and jump by nearly one."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return False
    return any(
        bool(np.ptp(known) <= 1.02 * turn and np.any(np.abs(np.diff(known)) > 0.8 * turn)) for turn in (TURN, 360)
    )


def _use(values: np.ndarray, limit: float) -> tuple[float, float]:
    """The share of samples at the limits, and for how many samples a value is kept."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, np.inf
    if np.isfinite(limit):
        saturated = float(np.mean(np.abs(known) >= SATURATED * limit))
    else:
        ends = [known == known.min(), known == known.max()]
        saturated = float(sum(at.mean() for at in ends if at.sum() > 1)) if np.ptp(known) > 0 else 0.0
    changes = np.count_nonzero(np.diff(known))
    return saturated, float((len(known) - 1) / changes) if changes else np.inf
