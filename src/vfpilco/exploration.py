"""Exploration: the inputs applied before anything is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.signal import butter, lfilter, sawtooth


@runtime_checkable
class Exploration(Protocol):
    """A way to choose the inputs of a trial without a model."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        """The inputs of one trial, `steps` rows, within ±`limits`."""
        ...


@runtime_checkable
class Feedback(Protocol):
    """A way to explore with a controller that sees what is measured."""

    def controller(
        self, rng: np.random.Generator, sampling_time: float, limits: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """A controller for one trial: called with every measurement, returns the inputs to apply."""
        ...


@dataclass(frozen=True)
class FilteredNoise:
    """White Gaussian noise through a first-order low-pass, scaled to a fraction of the limit and clipped."""

    cutoff: float = 1.5
    """Cut-off frequency in Hz."""
    std: float = 0.5
    """Standard deviation as a fraction of the input limit."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        b, a = butter(1, self.cutoff, fs=1 / sampling_time)  # pyright: ignore[reportAssignmentType, reportGeneralTypeIssues]
        settle = int(np.ceil(2 / (self.cutoff * sampling_time)))
        noise = np.asarray(lfilter(b, a, rng.standard_normal((settle + steps, len(limits))), axis=0))[settle:]
        # The gain follows from the filter, not from the sample, so every draw has the same distribution.
        impulse = lfilter(b, a, np.eye(1, 50 * settle)[0])
        return np.clip(noise / np.linalg.norm(impulse) * self.std, -1, 1) * limits


@dataclass(frozen=True)
class Cosines:
    """A sum of cosines of random frequencies and phases, all of the same amplitude, clipped."""

    count: int = 10
    frequencies: tuple[float, float] = (0.2, 3.0)
    """Bounds of the frequencies, Hz."""
    std: float = 0.4
    """Standard deviation as a fraction of the input limit."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        frequency = rng.uniform(*self.frequencies, size=(self.count, len(limits)))
        phase = rng.uniform(0, 2 * np.pi, size=(self.count, len(limits)))
        t = np.arange(steps)[:, None, None] * sampling_time
        waves = np.cos(2 * np.pi * frequency * t + phase).sum(1)
        return np.clip(self.std * np.sqrt(2 / self.count) * waves, -1, 1) * limits


@dataclass(frozen=True)
class TriangularWaves:
    """A noisy triangular wave for every input, of a random frequency and sign, clipped.

    It begins at a peak, so that a position that integrates the input swings evenly around its start.
    """

    frequencies: tuple[float, float] = (0.8, 1.6)
    """Bounds of the frequencies, Hz."""
    amplitude: float = 0.5
    """Of the wave, as a fraction of the input limit."""
    noise: float = 0.1
    """Standard deviation of the noise, likewise."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        frequency, sign = rng.uniform(*self.frequencies, size=len(limits)), rng.choice([-1.0, 1.0], size=len(limits))
        phase = 2 * np.pi * frequency * np.arange(steps)[:, None] * sampling_time
        wave = self.amplitude * sign * sawtooth(phase + np.pi, 0.5)  # pyright: ignore[reportArgumentType]
        return np.clip(wave + self.noise * rng.standard_normal(wave.shape), -1, 1) * limits


@dataclass(frozen=True)
class RandomPD:
    """A poorly tuned PD controller along a reference, its gains drawn anew for every input and trial.

    u = K_P (r - q̄) - K_D q̄', with the velocity by backward difference. There are as many inputs as positions.
    """

    reference: Sequence[Sequence[float]]
    """Positions to follow, sample by sample."""
    k_p: tuple[float, float] = (0.5, 2.0)
    """Bounds of the proportional gains."""
    k_d: tuple[float, float] = (0.01, 0.2)
    """Bounds of the derivative gains."""

    def controller(
        self, rng: np.random.Generator, sampling_time: float, limits: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        k_p, k_d = (rng.uniform(*bounds, size=len(limits)) for bounds in (self.k_p, self.k_d))
        goals, last = iter(self.reference), None

        def control(q: np.ndarray) -> np.ndarray:
            nonlocal last
            velocity = np.zeros_like(q) if last is None else (q - last) / sampling_time
            last = q
            return np.clip(k_p * (np.asarray(next(goals)) - q) - k_d * velocity, -limits, limits)

        return control
