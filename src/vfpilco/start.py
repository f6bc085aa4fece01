"""Where particles start: the distribution p(q_0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vfpilco.errors import UserError, numbers_of


@runtime_checkable
class Start(Protocol):
    """The distribution p(q_0) that particles start from, at rest."""

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        """Draw start positions."""
        ...


def same_length(one: Sequence[float], other: Sequence[float]) -> None:
    """Refuse a start that has more numbers of one kind than of the other."""
    if len(one) != len(other):
        raise UserError(f"A start needs two numbers for every position, got {one} and {other}.")


@dataclass(frozen=True)
class GaussianStart:
    """Particles start from a Gaussian around `mean`."""

    mean: Sequence[float]
    std: Sequence[float]

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            object.__setattr__(self, name, numbers_of(getattr(self, name), f"The {name} of a start"))
        same_length(self.mean, self.std)

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        gauss = jax.random.normal(key, (particles, len(self.mean)), dtype)
        return jnp.asarray(self.mean, dtype) + gauss * jnp.asarray(self.std, dtype)


@dataclass(frozen=True)
class UniformStart:
    """Particles start anywhere between `low` and `high`."""

    low: Sequence[float]
    high: Sequence[float]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, numbers_of(getattr(self, name), f"The {name} end of a start"))
        same_length(self.low, self.high)

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low + (high - low) * jax.random.uniform(key, (particles, len(self.low)), dtype)
