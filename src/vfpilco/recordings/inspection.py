"""What recordings show about a machine: rate, sensors, inputs and delay; and the settings that fit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfpilco.data.trial import Trial
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.delay import Delay, find_delay
from vfpilco.recordings.estimates import InputEstimate, PositionEstimate, Sampling
from vfpilco.recordings.excitation import LEAST_SAMPLES, Segment
from vfpilco.recordings.logs import Recording
from vfpilco.recordings.motion import Evidence
from vfpilco.recordings.quantisation import find_step
from vfpilco.recordings.suggestion import Suggestion, suggest
from vfpilco.recordings.times import median_interval
from vfpilco.recordings.values import SATURATED, TURN, runs
from vfpilco.tasks.machine import Machine

Samples = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The times (n,), positions (n, d_q) and inputs (n, d_u) of a recording."""


@dataclass(frozen=True)
class Inspection:
    """Everything that recordings of one machine show."""

    samples: int
    """How many samples there are."""
    sampling: Sampling
    positions: tuple[PositionEstimate, ...]
    inputs: tuple[InputEstimate, ...]
    delay: Delay

    def suggestion(self) -> Suggestion:
        """Memories and a sensor that fit this machine, with the reasons."""
        return suggest(self.positions, self.delay)


def inspect_trials(trials: Sequence[Trial], machine: Machine, open_loop: bool = False) -> Inspection:
    """Inspect trials of a machine together: noise, steps and clock of its sensors, its inputs, and its delay.

    Args:
        trials: What was measured and applied; at least one.
        machine: What the positions and inputs are.
        open_loop: Whether the inputs are known not to depend on the measurements, as in most explorations.

    Returns:
        What they show, to be compared with what the machine's description says.

    Example:
        >>> import vfpilco
        >>> from vfpilco.trials.execute import execute
        >>> task = vfpilco.task("cartpole")
        >>> trial = execute(task, task.machine.plant(), task.explorer(0, 0), 0)
        >>> found = inspect_trials([trial], task.machine)
        >>> found.delay.sentence, [round(p.noise, 3) for p in found.positions]
        ('0 samples, clear', [0.001, 0.002])
    """
    channels = Channels(machine.positions, machine.inputs, machine.sampling_time)
    parts = [
        (np.arange(len(trial.q)) * trial.sampling_time, trial.q, _with_last(trial.u, len(trial.q))) for trial in trials
    ]
    return _inspect(parts, channels, (0.0,) * len(machine.positions), open_loop)


def delay_of(trials: Sequence[Trial], machine: Machine, open_loop: bool = False) -> Delay:
    """The delay between an input and the motion it causes, as far as trials show it.

    Args:
        trials: What was measured and applied; at least one.
        machine: What the positions and inputs are.
        open_loop: Whether the inputs are known not to depend on the measurements, as in most explorations.

    Returns:
        The delay: `samples` is None if the trials do not show it, and `problem` says why; `clear` is True if it is
        beyond doubt.

    Example:
        >>> import vfpilco
        >>> from vfpilco.trials.execute import execute
        >>> task = vfpilco.task("cartpole")
        >>> trial = execute(task, task.machine.plant(), task.explorer(0, 0), 0)
        >>> delay = delay_of([trial], task.machine, open_loop=True)
        >>> delay.samples, delay.clear
        (0, True)
    """
    return inspect_trials(trials, machine, open_loop).delay


def inspect_recordings(recordings: Sequence[Recording]) -> Inspection:
    """Inspect recordings of one machine together."""
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
    """Inspect one recording; values that are not finite are left out.

    Args:
        times: The time of every sample in seconds, (n,).
        positions: Measured positions (n, d_q).
        inputs: Applied inputs (n, d_u) or (n - 1, d_u).
        channels: What positions and inputs are.
        resolution: The value of the last printed digit of each position; 0 where it is unknown.
    """
    inputs = _with_last(inputs, len(positions))
    return _inspect([(times, positions, inputs)], channels, resolution or (0.0,) * positions.shape[1])


def _with_last(u: np.ndarray, samples: int) -> np.ndarray:
    """Inputs with a missing one after the last sample, if there is none."""
    return u if len(u) == samples else np.concatenate([u, np.full((1, u.shape[1]), np.nan)])


def _inspect(
    parts: list[Samples], channels: Channels, resolution: Sequence[float], open_loop: bool = False
) -> Inspection:
    sampling = _sampling([times for times, _, _ in parts])
    segments = [segment for part in parts for segment in _segments(part, channels.angles, sampling)]
    free = [i for i, p in enumerate(channels.positions) if p.commanded is None]
    found = [find_step(np.concatenate([q[:, i] for _, q, _ in parts]), step) for i, step in enumerate(resolution)]
    steps = [0.0 if quantisation is None else quantisation.step for quantisation in found]
    delay, evidence = find_delay(segments, channels.angles, free, steps, open_loop)
    positions = []
    for i, p in enumerate(channels.positions):
        columns = [q[:, i] for _, q, _ in parts]
        raw = np.concatenate(columns)
        steps = np.concatenate([np.diff(q[:, i]) for q, _ in segments] or [np.zeros(1)])
        positions.append(
            PositionEstimate(
                p.name,
                p.unit,
                *_range(raw),
                any(_wraps(column) for column in columns),
                found[i],
                *_noise_and_timing(evidence[i], sampling.interval),
                float(np.sqrt(np.mean(steps**2))),
                evidence[i][0].errors if evidence[i] else np.empty(0),
            )
        )
    u = np.concatenate([u for _, _, u in parts])
    inputs = tuple(
        InputEstimate(c.name, c.unit, *_range(column), *_use(column, c.limit))
        for c, column in zip(channels.inputs, u.T, strict=True)
    )
    return Inspection(sum(len(q) for _, q, _ in parts), sampling, tuple(positions), inputs, delay)


def _noise_and_timing(found: list[Evidence], interval: float) -> tuple[float | None, float | None]:
    """The medians over the segments: a single bad segment does not affect them."""
    if not found:
        return None, None
    return float(np.median([e.noise for e in found])), float(np.median([e.timing for e in found])) * interval


def _sampling(times: list[np.ndarray]) -> Sampling:
    interval = float(np.median([median_interval(t) for t in times]))
    intervals = np.concatenate([np.diff(t) for t in times])
    regular = intervals[(intervals > 0) & (intervals < 1.5 * interval)]
    if not len(regular):
        return Sampling(interval, 0.0, 0.0)
    return Sampling(interval, float(regular.std()), float(np.max(np.abs(regular - interval))))


def _segments(part: Samples, angles: tuple[bool, ...], sampling: Sampling) -> list[Segment]:
    """The parts without gaps or missing values, with unwrapped angles."""
    times, q, u = part
    complete = np.isfinite(q).all(1) & np.isfinite(times)
    complete[:-1] &= np.isfinite(u[:-1]).all(1)  # The effect of the last inputs is not recorded: they may be missing.
    intervals = np.diff(times, prepend=times[0] - sampling.interval) / sampling.interval
    cut = ~((intervals > 0) & (intervals < 1.5))
    u = np.where(np.isfinite(u), u, np.roll(u, 1, axis=0))  # Missing last inputs are taken to be held.
    found = []
    for begin, end in runs(complete):
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
    """The fraction of samples at the limits, and how many samples a value is held on average."""
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
