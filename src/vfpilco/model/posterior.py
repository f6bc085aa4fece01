"""GP posteriors in the form the particles need, exact or projected on inducing points.

Both forms are the same three arrays: with k = k(x, Z),

    mean(x) = k a,    variance(x) = k(x, x) - ‖k W‖².

Exact: Z = X, and with K = Q κ Qᵀ, a = (K + σ²I)⁻¹ y and W = Q (κ + σ²)^-½. Projected on U inducing points: with
K_zz = L Lᵀ, A = L⁻¹ K_zx / σ and A Aᵀ = E δ Eᵀ, a = L⁻ᵀ (I + A Aᵀ)⁻¹ A y / σ and W = L⁻ᵀ E (δ / (1 + δ))^½; directions
that the data determine least (small δ) are left out of W. Far from the data k = 0 and the variance is the prior's.

The variance is a small difference of large numbers. Written with W, whose columns are directions that the data
determine, its rounding error in float32 is some 1e-6 of the prior variance; written with the inverse covariance itself
it is orders of magnitude more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, no_type_check

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vfpilco.model.kernels import Kernel

T = TypeVar("T")


def joint(stacked: T, j: int) -> T:
    """What belongs to joint `j` in something stacked over all joints."""
    return jax.tree.map(lambda leaf: leaf[j], stacked)


@no_type_check  # while JAX transforms functions of it, its fields hold other things than arrays
@partial(
    jax.tree_util.register_dataclass,
    data_fields=["params", "z", "a", "w", "y_scale"],
    meta_fields=["kernel"],
)
@dataclass(frozen=True)
class Posterior:
    """The posteriors of all joints, stacked along the first axis, on targets in units of `y_scale`."""

    kernel: Kernel
    """The covariance function; not an array, but part of the structure."""
    params: Any
    """Its hyperparameters."""
    z: Float[Array, "J U d_x"]
    """The points Z."""
    a: Float[Array, "J U"]
    w: Float[Array, "J U R"]
    y_scale: Float[Array, "J"]
    """The unit of the targets."""

    def cast(self, dtype: jax.typing.DTypeLike) -> Posterior:
        """The same posterior in another precision."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), self)

    @property
    def joints(self) -> int:
        """The number of joints."""
        return len(self.z)


def predict(posterior: Posterior, x: Float[Array, "M d_x"]) -> tuple[Float[Array, "M J"], Float[Array, "M J"]]:
    """Latent mean and variance of every joint, without the prior mean, in units of the targets.

    The derivative with respect to x is computed in the same forward pass: the backward pass touches nothing of the
    training set's size and nothing of that size is stored. The posterior itself is a constant.
    """
    mean, variance = _predict(posterior, x)
    return mean * posterior.y_scale, variance * posterior.y_scale**2


@jax.custom_vjp
def _predict(posterior: Posterior, x: Array) -> tuple[Array, Array]:
    mean, variance, _, _ = _with_jacobians(posterior, x)
    return mean, variance


def _forward(posterior: Posterior, x: Array):
    mean, variance, d_mean, d_variance = _with_jacobians(posterior, x)
    return (mean, variance), (d_mean, d_variance)


def _backward(jacobians, cotangents):
    return None, sum((g[..., None] * d).sum(1) for g, d in zip(cotangents, jacobians, strict=True))


_predict.defvjp(_forward, _backward)


def _with_jacobians(posterior: Posterior, x: Array) -> tuple[Array, ...]:
    """Mean, variance (M, J) and their Jacobians (M, J, d_x); the joints are unrolled, each a few matrix products."""

    def one(j: int) -> tuple[Array, ...]:
        kernel = posterior.kernel
        params, z, a, w = joint((posterior.params, posterior.z, posterior.a, posterior.w), j)
        k, prior = kernel.cross(params, x, z), kernel.diagonal(params, x)
        v = k @ w
        variance = prior - (v * v).sum(-1)
        d_variance = kernel.diagonal_gradient(params, x) - 2 * kernel.gradient(params, x, z, v @ w.T)
        floor = FLOOR[str(prior.dtype)] * prior
        d_variance = jnp.where((variance > floor)[:, None], d_variance, 0)
        return k @ a, jnp.maximum(variance, floor), kernel.gradient(params, x, z, a), d_variance

    return tuple(jnp.stack(parts, axis=1) for parts in zip(*map(one, range(posterior.joints)), strict=True))


FLOOR = {"float32": 1e-6, "float64": 1e-10}
"""The smallest variance a prediction may have, relative to the prior's: below it rounding errors dominate."""
