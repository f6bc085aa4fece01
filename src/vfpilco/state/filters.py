"""Filters that estimate velocities from measured positions: online, sample by sample, and offline, from all samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.linalg import solve_discrete_are

from vfpilco.common.checks import check_number
from vfpilco.tasks.machine import Command


class Recursive(NamedTuple):
    """The matrices of linear filters m ← A m + b q̄, one per position."""

    a: tuple
    b: tuple


@runtime_checkable
class Filter(Protocol):
    """Estimates positions and velocities from measured positions."""

    needs_std: ClassVar[bool]
    """Whether the standard deviation of the sensor's error has to be known."""

    def recursive(self, std: tuple[float, ...], sampling_time: float) -> Recursive:
        """The filter for use online; the first entry of its memory is the position, the last one the velocity."""
        ...

    def smooth(self, q: np.ndarray, std: tuple[float, ...], sampling_time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of every sample of a trial, (samples, d_q) each."""
        ...


@dataclass(frozen=True)
class LowPass:
    """Low-pass filters: causal of first order online, zero-phase of second order offline.

    Example:
        >>> LowPass(cutoff=0.5).cutoff
        0.5
    """

    cutoff: float = 0.5
    """Cut-off frequency, as a fraction of half the sampling rate."""

    needs_std: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("cutoff", self.cutoff, 1e-6, 1 - 1e-6, "0.5 is typical")

    def recursive(self, std: tuple[float, ...], sampling_time: float) -> Recursive:
        """Backward differences through a first-order Butterworth low-pass; memory [position, difference, velocity]."""
        from scipy.signal import butter  # slow to import, and only these filters need it

        (b0, b1), (_, a1) = butter(1, self.cutoff)  # pyright: ignore
        h, positions = sampling_time, len(std)
        a = ((0.0, 0.0, 0.0), (-1 / h, 0.0, 0.0), (-b0 / h, b1, -a1))
        return Recursive(_floats([a] * positions), _floats([(1.0, 1 / h, b0 / h)] * positions))

    def smooth(self, q: np.ndarray, std: tuple[float, ...], sampling_time: float) -> tuple[np.ndarray, np.ndarray]:
        """A zero-phase second-order Butterworth low-pass, then central differences, one-sided at both ends."""
        from scipy.signal import butter, filtfilt

        smooth = filtfilt(*butter(2, self.cutoff), q, axis=0, padlen=min(9, len(q) - 1))  # pyright: ignore
        return smooth, np.gradient(smooth, sampling_time, axis=0)


@dataclass(frozen=True)
class Kalman:
    """Stationary Kalman filters online, Rauch-Tung-Striebel smoothers offline, for motion with random acceleration.

    Example:
        >>> Kalman(acceleration=20.0).needs_std
        True
    """

    acceleration: float = 20.0
    """Standard deviation of the acceleration, in units of a position per s²."""

    needs_std: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("acceleration", self.acceleration, 1e-12, float("inf"))

    def recursive(self, std: tuple[float, ...], sampling_time: float) -> Recursive:
        """The memory is [position, velocity]."""
        a, b = [], []
        for noise in std:
            f, gain, _ = _stationary(noise, sampling_time, self.acceleration)
            a.append(f - np.outer(gain, f[0]))
            b.append(gain)
        return Recursive(_floats(a), _floats(b))

    def smooth(self, q: np.ndarray, std: tuple[float, ...], sampling_time: float) -> tuple[np.ndarray, np.ndarray]:
        columns = [self._one(column, noise, sampling_time) for column, noise in zip(q.T, std, strict=True)]
        smoothed = np.stack(columns, axis=1)
        return smoothed[..., 0], smoothed[..., 1]

    def _one(self, q: np.ndarray, noise: float, h: float) -> np.ndarray:
        f, gain, p = _stationary(noise, h, self.acceleration)
        filtered = np.empty((len(q), 2))
        m = np.array([q[0], 0.0])
        for t, measured in enumerate(q):
            if t:
                m = f @ m
            m = m + gain * (measured - m[0])
            filtered[t] = m
        after = p - np.outer(gain, p[0])
        back = after @ f.T @ np.linalg.inv(p)
        for t in range(len(q) - 2, -1, -1):
            filtered[t] += back @ (filtered[t + 1] - f @ filtered[t])
        return filtered


def difference_filters(filters: Recursive, commands: tuple[Command, ...], sampling_time: float) -> Recursive:
    """The same filters, with plain differences for commanded positions, which are known exactly."""
    a, b = np.array(filters.a), np.array(filters.b)
    for command in commands:
        a[command.position], b[command.position] = 0.0, 1 / sampling_time
        a[command.position, 1:, 0], b[command.position, 0] = -1 / sampling_time, 1.0
    return Recursive(_floats(a), _floats(b))


def _stationary(noise: float, h: float, acceleration: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transition F, gain K and predicted covariance P of the stationary Kalman filter of one position.

    The acceleration is white noise that changes the velocity by `acceleration` times `h` in a sample. It must not be
    constant between samples: the filter's velocity would then oscillate. No sensor is taken as exact.
    """
    noise = max(noise, 1e-3 * acceleration * h**2)
    f = np.array([[1.0, h], [0.0, 1.0]])
    q = (acceleration * h) ** 2 * np.array([[h**2 / 3, h / 2], [h / 2, 1.0]])
    p = solve_discrete_are(f.T, np.array([[1.0], [0.0]]), q, np.array([[noise**2]]))
    return f, p[:, 0] / (p[0, 0] + noise**2), p


def _floats(nested: Any) -> Any:
    return tuple(map(_floats, nested)) if np.ndim(nested) else float(nested)
