"""The band that the measurements of a trial are predicted to stay in, for every position over the complete trial.

The particles are measured by the sensor, so that its noise is included. At every sample the band reaches z standard
deviations to both sides of their mean, and further if a particle is further out, where they are in two groups for
example. z is that of a Gaussian with the probability (1 - p) of leaving shared among all samples (Bonferroni): a trial
as predicted stays inside at every sample with at least the probability p, per position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from vfpilco.common.random import NumpyRandom
from vfpilco.rollout.particles import Rollout
from vfpilco.tasks.sensors import Sensor


class Band(NamedTuple):
    """Where every position is predicted to be measured at every sample."""

    low: Float[np.ndarray, "samples d_q"]
    mean: Float[np.ndarray, "samples d_q"]
    high: Float[np.ndarray, "samples d_q"]

    def outside(self, q: Float[np.ndarray, "measured d_q"]) -> np.ndarray:
        """Which measurements of a trial (measured, d_q) are outside."""
        n = min(len(q), len(self.low))
        return ~((self.low[:n] <= q[:n]) & (q[:n] <= self.high[:n]))

    def first_outside(self, q: Float[np.ndarray, "measured d_q"]) -> tuple[int, int] | None:
        """The first sample of a trial with a measurement outside, and the position; None if there is none."""
        out = np.any(self.outside(q), axis=1)
        t = int(out.argmax())
        return (t, self.furthest(t, q[t])) if out[t] else None

    def furthest(self, t: int, q: Float[np.ndarray, "d_q"]) -> int:
        """The position that is furthest outside at sample t, in units of its own band."""
        low, high = self.low[t], self.high[t]
        return int(np.argmax(np.maximum(low - q, q - high) / np.maximum(high - low, 1e-300)))

    def around(self, start: Float[np.ndarray, "d_q"], angles: Sequence[bool]) -> Band:
        """The band of a trial that begins at `start`: angles are shifted by full turns."""
        turns = 2 * np.pi * np.round((start - self.mean[0]) / (2 * np.pi)) * np.asarray(angles)
        return Band(self.low + turns, self.mean + turns, self.high + turns)


def band_of(predicted: Rollout, sensor: Sensor, probability: float) -> Band:
    """The band of measurements.

    Args:
        predicted: The particles that predict the trial.
        sensor: What measures them.
        probability: With which the complete trial stays inside, per position.

    Returns:
        Its borders, and the mean of the measured particles.

    Example:
        >>> from vfpilco.tasks.sensors import GaussianNoise
        >>> particles = Rollout(np.zeros((3, 200, 1)), np.zeros((2, 200, 1)), np.zeros((3, 200)))
        >>> bool(np.all(band_of(particles, GaussianNoise((0.01,)), 0.999).high > 0.03))
        True
    """
    seen = measured(sensor, np.asarray(predicted.q, dtype=float))
    mean = seen.mean(1)
    reach = -ndtri((1 - probability) / (2 * len(seen))) * seen.std(1)
    return Band(np.minimum(mean - reach, seen.min(1)), mean, np.maximum(mean + reach, seen.max(1)))


def measured(sensor: Sensor, q: Float[np.ndarray, "samples M d_q"]) -> Float[np.ndarray, "samples M d_q"]:
    """Particles as a sensor measures them; the noise is always the same."""
    noise = sensor.noise(NumpyRandom(np.random.default_rng(0)), q.shape)
    memory, seen = sensor.begin(q[0]), []
    for t, true in enumerate(q):
        observed, memory = sensor.measure(memory, true, jax.tree.map(lambda rows, t=t: rows[t], noise))
        seen.append(np.asarray(observed))
    return np.array(seen)
