"""Covariance functions on GP inputs."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class SquaredExponential(NamedTuple):
    """k(x, z) = λ² exp(-½ Σ_d (x_d - z_d)² / ℓ_d²), one lengthscale per input entry (Eq. 2)."""

    log_lengthscales: Float[Array, "*J d_x"]
    log_scale: Float[Array, "*J"]
    """log λ."""

    @staticmethod
    def start(spread: np.ndarray) -> SquaredExponential:
        """Where a fit starts, and what its guard pulls to: lengthscales of three spreads of the data, unit signal."""
        return SquaredExponential(np.log(3 * spread), np.array(0.0))  # pyright: ignore[reportArgumentType]

    @staticmethod
    def guard() -> SquaredExponential:
        """Standard deviations of the logarithms around the start: the guard against bad optima."""
        return SquaredExponential(2.0, 1.0)  # pyright: ignore[reportArgumentType]

    def rescale(self, log_factor: float) -> SquaredExponential:
        """The same kernel for targets that are `exp(log_factor)` times as large."""
        return self._replace(log_scale=self.log_scale + log_factor)

    def cross(self, x: Float[Array, "M d_x"], z: Float[Array, "U d_x"]) -> Float[Array, "M U"]:
        """k(x, z) for every pair; the square is expanded so that the work is one matrix product."""
        inverse = jnp.exp(-self.log_lengthscales)
        x, z = x * inverse, z * inverse
        exponent = x @ z.T - 0.5 * (x * x).sum(-1, keepdims=True) + (2 * self.log_scale - 0.5 * (z * z).sum(-1))
        return jnp.exp(exponent)

    def slope(
        self,
        x: Float[Array, "M d_x"],
        z: Float[Array, "U d_x"],
        k: Float[Array, "M U"],
        c: Float[Array, "U"] | Float[Array, "M U"],
    ) -> Float[Array, "M d_x"]:
        """∂/∂x Σ_n c_n k(x, z_n) = Σ_n c_n k(x, z_n) (z_n - x) / ℓ², from the covariances k already computed."""
        points = jnp.concatenate([jnp.ones((len(z), 1), z.dtype), z], axis=1)
        sums = k @ (c[:, None] * points) if c.ndim == 1 else (k * c) @ points
        return (sums[:, 1:] - sums[:, :1] * x) * jnp.exp(-2 * self.log_lengthscales)

    def diagonal(self, x: Float[Array, "M d_x"]) -> Float[Array, "M"]:
        """k(x, x) for every row."""
        return jnp.full(x.shape[0], jnp.exp(2 * self.log_scale), x.dtype)

    def diagonal_slope(self, x: Float[Array, "M d_x"]) -> Float[Array, "M d_x"]:
        """∂/∂x k(x, x)."""
        return jnp.zeros_like(x)


KERNELS = {"se": SquaredExponential}
"""The kernels that can be chosen, by name."""
