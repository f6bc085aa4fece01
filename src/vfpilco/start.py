"""Where particles start: the distribution p(q_0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@runtime_checkable
class Start(Protocol):
    """The distribution p(q_0) that particles start from, at rest."""

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        """Draw start positions."""
        ...


@dataclass(frozen=True)
class GaussianStart:
    """Particles start from a Gaussian around `mean`."""

    mean: Sequence[float]
    std: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", tuple(float(m) for m in self.mean))
        object.__setattr__(self, "std", tuple(float(s) for s in self.std))

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        gauss = jax.random.normal(key, (particles, len(self.mean)), dtype)
        return jnp.asarray(self.mean, dtype) + gauss * jnp.asarray(self.std, dtype)


@dataclass(frozen=True)
class UniformStart:
    """Particles start anywhere between `low` and `high`."""

    low: Sequence[float]
    high: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", tuple(float(v) for v in self.low))
        object.__setattr__(self, "high", tuple(float(v) for v in self.high))

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low + (high - low) * jax.random.uniform(key, (particles, len(self.low)), dtype)
