"""The noise of what the GPs learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class NoiseModel(Protocol):
    """How the errors of the measurements become the noise of the GPs' targets; immutable and hashable.

    Example:
        >>> isinstance(WhiteNoise(), NoiseModel)
        True
    """

    def covariance(
        self, weights: list[float], t: np.ndarray, q: np.ndarray, std: np.ndarray | None
    ) -> Float[np.ndarray, "C diagonals N"] | None:
        """The covariance of the noise of a trial's targets, up to a factor, which is fitted.

        Args:
            weights: The weights of the errors at t+1, t and t-1 in the target of sample t.
            t: The sample of every target.
            q: The measured positions of the trial that have a GP, (samples, J).
            std: The sensor's standard deviation at these positions: (J,), (samples, J), or None if it is unknown.

        Returns:
            A matrix per GP, or one for all, by its diagonals: the covariance of targets i and i + k in row k and column
            i. None if every target has noise of its own.
        """
        ...

    def least_noise(self, weights: list[float]) -> float:
        """The least noise of a target, relative to that of a single measurement."""
        ...


@dataclass(frozen=True)
class WhiteNoise:
    """Every target has independent noise, as in the paper.

    Example:
        >>> WhiteNoise().least_noise([1.0, -2.0, 1.0])
        1.0
    """

    def covariance(self, weights: list[float], t: np.ndarray, q: np.ndarray, std: np.ndarray | None) -> None:
        return None

    def least_noise(self, weights: list[float]) -> float:
        """x̃ contains nothing of the error of the position that is reached."""
        return 1.0


@dataclass(frozen=True)
class CorrelatedNoise:
    """Targets share the errors of the measurements they are made of.

    All measurements are equally good, and one matrix serves all GPs, unless the sensor's error depends on the motion:
    then those of fast movements are worse.

    Example:
        >>> round(CorrelatedNoise().least_noise([1.0, -2.0, 1.0]), 3)
        2.449
    """

    def covariance(
        self, weights: list[float], t: np.ndarray, q: np.ndarray, std: np.ndarray | None
    ) -> Float[np.ndarray, "C diagonals N"]:
        """B Bᵀ, where row t of B has the weights of the errors at t+1, t and t-1, times their standard deviations."""
        error = np.ones((1, len(q))) if std is None or std.ndim == 1 else std.T
        samples = t[:, None] + 1 - np.arange(len(weights))
        mixing, n = np.asarray(weights) * error[:, samples], len(t)
        bands = np.zeros((len(error), len(weights), n))
        for k in range(min(len(weights), n)):
            for a, b in np.ndindex(len(weights), len(weights)):
                shared = samples[: n - k, a] == samples[k:, b]
                bands[:, k, : n - k] += shared * mixing[:, : n - k, a] * mixing[:, k:, b]
        return bands

    def least_noise(self, weights: list[float]) -> float:
        """The errors of all measurements in a target."""
        return float(np.linalg.norm(weights))
