"""Exploration: how inputs are chosen before there is a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from vfpilco.common.errors import UserError


@runtime_checkable
class Exploration(Protocol):
    """Exploration with inputs that do not depend on what is measured.

    Example:
        >>> class Steps:
        ...     def inputs(self, rng, steps, sampling_time, limits):
        ...         return np.sign(rng.normal(size=(steps, len(limits)))) * limits
        >>> isinstance(Steps(), Exploration)
        True
    """

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        """Draw the inputs of one trial.

        Args:
            rng: The only source of randomness.
            steps: How many samples the trial has.
            sampling_time: Seconds between samples.
            limits: The largest magnitude of every input.

        Returns:
            Inputs (steps, d_u) within ±`limits`.
        """
        ...


@runtime_checkable
class Feedback(Protocol):
    """Exploration with a feedback controller.

    Example:
        >>> class Hold:
        ...     def controller(self, rng, sampling_time, limits):
        ...         return lambda q: np.clip(-2.0 * q, -limits, limits)
        >>> isinstance(Hold(), Feedback)
        True
    """

    def controller(
        self, rng: np.random.Generator, sampling_time: float, limits: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Draw a controller for one trial.

        Args:
            rng: The only source of randomness.
            sampling_time: Seconds between samples.
            limits: The largest magnitude of every input.

        Returns:
            A function that is called with every measurement and returns the inputs to apply.
        """
        ...


SHARE_OF_RATE = 0.05
"""The cut-off frequency of exploring inputs, relative to the sampling rate."""


@dataclass(frozen=True)
class FilteredNoise:
    """White Gaussian noise through a first-order low-pass filter, scaled to a fraction of the limit and clipped.

    Example:
        >>> FilteredNoise(cutoff=3.0).inputs(np.random.default_rng(0), 90, 1 / 30, np.array([10.0])).shape
        (90, 1)
    """

    cutoff: float | None = None
    """Cut-off frequency in Hz; a twentieth of the sampling rate if not given."""
    std: float = 0.5
    """Standard deviation as a fraction of the input limit."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        cutoff = self.cutoff or SHARE_OF_RATE / sampling_time
        if cutoff * sampling_time >= 0.5:
            raise UserError(
                f"a sampling time of {sampling_time:g} s is too long for inputs of {cutoff:g} Hz: give "
                f"sampling_time in seconds, {sampling_time / 1000:g} if {sampling_time:g} is in milliseconds, or lower "
                "the cutoff of FilteredNoise"
            )
        from scipy.signal import butter, lfilter  # slow to import, and most commands explore nothing

        b, a = butter(1, cutoff, fs=1 / sampling_time)  # pyright: ignore[reportAssignmentType, reportGeneralTypeIssues]
        settle = int(np.ceil(2 / (cutoff * sampling_time)))
        noise = np.asarray(lfilter(b, a, rng.standard_normal((settle + steps, len(limits))), axis=0))[settle:]
        # The gain is computed from the filter, not from the sample, so that every draw has the same distribution.
        impulse = lfilter(b, a, np.eye(1, 50 * settle)[0])
        return np.clip(noise / np.linalg.norm(impulse) * self.std, -1, 1) * limits


@dataclass(frozen=True)
class Cosines:
    """A sum of cosines of equal amplitude with random frequencies and phases, clipped.

    Example:
        >>> Cosines(count=5).inputs(np.random.default_rng(0), 90, 1 / 30, np.array([10.0])).shape
        (90, 1)
    """

    count: int = 10
    """How many cosines are added up."""
    frequencies: tuple[float, float] = (0.2, 3.0)
    """The range of the frequencies, in Hz."""
    std: float = 0.4
    """Standard deviation as a fraction of the input limit."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        frequency = rng.uniform(*self.frequencies, size=(self.count, len(limits)))
        phase = rng.uniform(0, 2 * np.pi, size=(self.count, len(limits)))
        t = np.arange(steps)[:, None, None] * sampling_time
        waves = np.cos(2 * np.pi * frequency * t + phase).sum(1)
        return np.clip(self.std * np.sqrt(2 / self.count) * waves, -1, 1) * limits


@dataclass(frozen=True)
class SumOfSines:
    """A sum of sines of equal amplitude, with random frequencies of either sign and random phases.

    Together they never exceed the limit, so that nothing is clipped. With its defaults it is how the authors of
    MC-PILCO4PMS explore the cart-pole.

    Example:
        >>> SumOfSines().inputs(np.random.default_rng(0), 90, 1 / 30, np.array([10.0])).shape
        (90, 1)
    """

    count: int = 10
    """How many sines are added up; the amplitude of each is the limit divided by that."""
    frequencies: tuple[float, float] = (0.1, 2.0)
    """The range of the frequencies, in Hz."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        size = (self.count, len(limits))
        frequency = rng.uniform(*self.frequencies, size=size) * rng.choice([-1.0, 1.0], size=size)
        phase = rng.uniform(-np.pi / 2, np.pi / 2, size=size)
        t = np.arange(steps)[:, None, None] * sampling_time
        return np.sin(2 * np.pi * frequency * t + phase).sum(1) / self.count * limits


@dataclass(frozen=True)
class TriangularWaves:
    """A noisy triangular wave with random frequency and sign for every input, clipped.

    It begins at a peak, so that a position that integrates the input swings symmetrically around its start.

    Example:
        >>> TriangularWaves().inputs(np.random.default_rng(0), 90, 1 / 30, np.array([10.0])).shape
        (90, 1)
    """

    frequencies: tuple[float, float] = (0.8, 1.6)
    """The range of the frequencies, in Hz."""
    amplitude: float = 0.5
    """Amplitude of the wave as a fraction of the input limit."""
    noise: float = 0.1
    """Standard deviation of the added noise as a fraction of the input limit."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        from scipy.signal import sawtooth

        frequency, sign = rng.uniform(*self.frequencies, size=len(limits)), rng.choice([-1.0, 1.0], size=len(limits))
        phase = 2 * np.pi * frequency * np.arange(steps)[:, None] * sampling_time
        wave = self.amplitude * sign * sawtooth(phase + np.pi, 0.5)  # pyright: ignore[reportArgumentType]
        return np.clip(wave + self.noise * rng.standard_normal(wave.shape), -1, 1) * limits


@dataclass(frozen=True)
class RandomPD:
    """A poorly tuned PD controller that follows a reference; its gains are random for every input and trial.

    u = K_P (r - q̄) - K_D q̄', with the velocity from backward differences. There are as many inputs as positions.

    Example:
        >>> control = RandomPD([[1.0]] * 90).controller(np.random.default_rng(0), 1 / 30, np.array([2.0]))
        >>> control(np.array([0.0])).shape
        (1,)
    """

    reference: Sequence[Sequence[float]]
    """Positions to follow, sample by sample."""
    k_p: tuple[float, float] = (0.5, 2.0)
    """The range of the proportional gains."""
    k_d: tuple[float, float] = (0.01, 0.2)
    """The range of the derivative gains."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", tuple(map(tuple, self.reference)))

    def controller(
        self, rng: np.random.Generator, sampling_time: float, limits: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        k_p, k_d = (rng.uniform(*bounds, size=len(limits)) for bounds in (self.k_p, self.k_d))
        targets, last = iter(self.reference), None

        def control(q: np.ndarray) -> np.ndarray:
            nonlocal last
            velocity = np.zeros_like(q) if last is None else (q - last) / sampling_time
            last = q
            return np.clip(k_p * (np.asarray(next(targets)) - q) - k_d * velocity, -limits, limits)

        return control
