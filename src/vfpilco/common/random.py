"""Random numbers for code that runs both on a simulated plant (NumPy) and in the particles (JAX)."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Random(Protocol):
    """A source of random numbers; every call draws new ones.

    Example:
        >>> random = NumpyRandom(np.random.default_rng(0))
        >>> random.uniform((2, 3), -1.0, 1.0).shape
        (2, 3)
    """

    def normal(self, shape: tuple[int, ...]) -> Any:
        """Draw standard normal numbers."""
        ...

    def uniform(self, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Any:
        """Draw numbers that are uniform between `low` and `high`."""
        ...


class NumpyRandom:
    """Random numbers from a NumPy generator, in float64."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.generator.standard_normal(shape)

    def uniform(self, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> np.ndarray:
        return self.generator.uniform(low, high, shape)


class JaxRandom:
    """Random numbers from a JAX key, in a given precision; every draw has a key of its own."""

    def __init__(self, key: Any, dtype: Any) -> None:
        self.key, self.dtype, self.draws = key, dtype, 0

    def normal(self, shape: tuple[int, ...]) -> Any:
        import jax

        return jax.random.normal(self._next(), shape, self.dtype)

    def uniform(self, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Any:
        import jax

        return jax.random.uniform(self._next(), shape, self.dtype, low, high)

    def _next(self) -> Any:
        import jax

        key = self.key if self.draws == 0 else jax.random.fold_in(self.key, self.draws)
        self.draws += 1
        return key
