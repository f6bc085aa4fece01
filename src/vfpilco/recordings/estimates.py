"""What is estimated from recordings: the sampling, and the properties of every position and input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vfpilco.common.text import readable
from vfpilco.recordings.quantisation import Quantisation


@dataclass(frozen=True)
class Sampling:
    """How regularly samples were taken, in seconds."""

    interval: float
    """The median interval."""
    jitter: float
    """Standard deviation of the intervals, gaps excluded."""
    worst: float
    """The largest deviation from the median, gaps excluded."""

    @property
    def rate(self) -> float:
        """Samples per second."""
        return 1 / self.interval


@dataclass(frozen=True)
class PositionEstimate:
    """What recordings show about a position, in its unit."""

    name: str
    unit: str
    low: float
    high: float
    wraps: bool
    """Whether it jumps by a full turn, as an angle does that is measured within one turn."""
    quantisation: Quantisation | None
    noise: float | None
    """Standard deviation of the measurement errors at rest; None if it is unknown."""
    timing: float | None
    """Standard deviation of the sampling instants as the motion shows it, in seconds; None if it is unknown."""
    movement: float
    """Root mean square of the change from sample to sample."""
    errors: np.ndarray
    """The most probable measurement errors of the first segment, sample by sample; empty if they are unknown."""

    @property
    def rounding(self) -> float:
        """The standard deviation of an error that is uniform within a step."""
        return 0.0 if self.quantisation is None else self.quantisation.step / float(np.sqrt(12))


@dataclass(frozen=True)
class InputEstimate:
    """What recordings show about an input, in its unit."""

    name: str
    unit: str
    low: float
    high: float
    saturated: float
    """Fraction of the samples at its limits, or at its own extremes where the limits are unknown."""
    held: float
    """How many samples it keeps a value on average; infinite if it never changes."""


def with_unit(value: float, unit: str) -> str:
    """An estimate as text, with three digits."""
    return f"{readable(value, 3)} {unit}".strip()
