"""Where trials start: the distribution p(q_0) of the particles' start positions, at rest or already moving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from vfpilco.common.errors import UserError, number_tuple
from vfpilco.common.random import Random


@runtime_checkable
class Start(Protocol):
    """The distribution p(q_0) that particles start from, at rest; immutable and hashable.

    Example:
        >>> isinstance(GaussianStart((0.0,), (0.01,)), Start)
        True
    """

    def sample(self, random: Random, particles: int) -> Any:
        """Draw start positions, (particles, d_q)."""
        ...


@runtime_checkable
class Moving(Start, Protocol):
    """A start that is not at rest.

    Example:
        >>> isinstance(MovingStart(GaussianStart((0.0,), (0.01,)), (2.0,), (0.1,)), Moving)
        True
    """

    def velocity(self, random: Random, particles: int) -> Any:
        """Draw velocities, (particles, d_q), in units of the positions per second."""
        ...


def _same_length(one: Sequence[float], other: Sequence[float]) -> None:
    if len(one) != len(other):
        raise UserError(f"A start needs two numbers for every position, got {one} and {other}.")


@dataclass(frozen=True)
class GaussianStart:
    """Particles start from a Gaussian around `mean`.

    Example:
        >>> GaussianStart((0.0, 3.14), (0.01, 0.01)).mean
        (0.0, 3.14)
    """

    mean: Sequence[float]
    std: Sequence[float]

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            object.__setattr__(self, name, number_tuple(getattr(self, name), f"The {name} of a start"))
        _same_length(self.mean, self.std)

    def sample(self, random: Random, particles: int) -> Any:
        gauss = random.normal((particles, len(self.mean)))
        xp = gauss.__array_namespace__()
        return xp.asarray(self.mean, dtype=gauss.dtype) + gauss * xp.asarray(self.std, dtype=gauss.dtype)


@dataclass(frozen=True)
class UniformStart:
    """Particles start anywhere between `low` and `high`.

    Example:
        >>> UniformStart((-0.1, -0.1), (0.1, 0.1)).high
        (0.1, 0.1)
    """

    low: Sequence[float]
    high: Sequence[float]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, number_tuple(getattr(self, name), f"The {name} end of a start"))
        _same_length(self.low, self.high)

    def sample(self, random: Random, particles: int) -> Any:
        share = random.uniform((particles, len(self.low)))
        xp = share.__array_namespace__()
        low, high = (xp.asarray(end, dtype=share.dtype) for end in (self.low, self.high))
        return low + (high - low) * share


@dataclass(frozen=True)
class MovingStart:
    """Particles start as another start says, but already moving, with Gaussian velocities.

    The state of the dynamics is then a window that moves at that velocity. The policy begins with its first
    measurement, as on the machine, and has to see the motion.

    Example:
        >>> MovingStart(GaussianStart((0.0,), (0.01,)), mean=(2.0,), std=(0.1,)).mean
        (2.0,)
    """

    start: Start
    """Where they start."""
    mean: Sequence[float]
    """The mean velocities, in units of the positions per second."""
    std: Sequence[float]
    """Their standard deviations."""

    def __post_init__(self) -> None:
        velocities = GaussianStart(self.mean, self.std)
        object.__setattr__(self, "mean", velocities.mean)
        object.__setattr__(self, "std", velocities.std)

    def sample(self, random: Random, particles: int) -> Any:
        return self.start.sample(random, particles)

    def velocity(self, random: Random, particles: int) -> Any:
        """Draw velocities, (particles, d_q)."""
        return GaussianStart(self.mean, self.std).sample(random, particles)
