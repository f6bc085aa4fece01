"""Where trials start: the distribution p(q_0) of the particles' start positions, at rest."""

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
