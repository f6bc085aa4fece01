"""Prior covariances of many points and their gradients, as compiled functions."""

from __future__ import annotations

from typing import Any

import jax
from jaxtyping import Array, Float

from vfpilco.common.compiled import compiled
from vfpilco.model.kernels import Kernel


@compiled(static_argnames="kernel")
def cross(kernel: Kernel, params: Any, x: Float[Array, "M d_x"], z: Float[Array, "U d_x"]) -> Float[Array, "M U"]:
    """k(x, z) for every pair of rows."""
    return kernel.cross(params, x, z)


@compiled(static_argnames="kernel")
def diagonal(kernel: Kernel, params: Any, x: Float[Array, "M d_x"]) -> Float[Array, "M"]:
    """k(x, x) for every row."""
    return kernel.diagonal(params, x)


@compiled(static_argnames="kernel")
def weighted_gradient(
    kernel: Kernel, params: Any, x: Float[Array, "M d_x"], z: Float[Array, "U d_x"], weights: Float[Array, "M U"]
) -> Any:
    """The gradient of Σ weights ∘ k(x, z) with respect to the hyperparameters."""
    return jax.grad(lambda params: (weights * kernel.cross(params, x, z)).sum())(params)
