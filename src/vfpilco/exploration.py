"""Exploration: the inputs applied before anything is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.signal import butter, lfilter


@runtime_checkable
class Exploration(Protocol):
    """A way to choose the inputs of a trial without a model."""

    def inputs(self, rng: np.random.Generator, steps: int, sampling_time: float, limits: np.ndarray) -> np.ndarray:
        """The inputs of one trial, `steps` rows, within ±`limits`."""
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
