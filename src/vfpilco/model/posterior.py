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
from typing import Any, NamedTuple, TypeVar, no_type_check

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vfpilco.model.kernels import Kernel
from vfpilco.model.kernels.base import Gradient

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
    """Latent mean and variance of every joint, without the prior mean, in units of the targets."""

    def one(part: Posterior) -> tuple[Array, Array]:
        predicted = _predict(part, x)[0]
        return predicted.mean, predicted.variance

    mean, variance = jax.vmap(one, out_axes=1)(posterior)
    return mean * posterior.y_scale, variance * posterior.y_scale**2


def sample(posterior: Posterior, x: Float[Array, "M d_x"], z: Float[Array, "M J"]) -> Float[Array, "M J"]:
    """mean(x) + standard deviation(x) z of every joint, without the prior mean, in units of the targets.

    Only the sample is differentiated, and z is known on the way forward. So its derivative with respect to x is one
    kernel gradient, with the weights a - (z / s) W Wᵀ k, computed in the same forward pass: the backward pass touches
    nothing of the training set's size and nothing of that size is stored. The posterior itself is a constant.
    """
    return _sample(posterior, x, z) * posterior.y_scale


@jax.custom_vjp
def _sample(posterior: Posterior, x: Array, z: Array) -> Array:
    return _forward(posterior, x, z)[0]


def _forward(posterior: Posterior, x: Array, z: Array) -> tuple[Array, Array]:
    """Samples (M, J) and their Jacobians (M, J, d_x)."""

    def one(part: Posterior, z: Array) -> tuple[Array, Array]:
        predicted, gradient = _predict(part, x)
        deviation = jnp.sqrt(predicted.variance)
        ratio = jnp.where(predicted.reliable, z / deviation, 0)[:, None]
        weights = part.a - (ratio * predicted.v) @ part.w.T
        of_prior = part.kernel.diagonal_gradient(part.params, x)
        return predicted.mean + deviation * z, gradient(weights) + ratio / 2 * of_prior

    return jax.vmap(one, in_axes=(0, 1), out_axes=1)(posterior, z)


def _backward(jacobians: Array, cotangent: Array) -> tuple[None, Array, None]:
    return None, (cotangent[..., None] * jacobians).sum(1), None


_sample.defvjp(_forward, _backward)


class _Predicted(NamedTuple):
    """What the posterior of one joint says at x, on targets of unit variance."""

    mean: Float[Array, "M"]
    variance: Float[Array, "M"]
    reliable: Array
    """Where the variance is above its floor."""
    v: Float[Array, "M R"]
    """k W: what the data explain, in every direction."""


def _predict(part: Posterior, x: Array) -> tuple[_Predicted, Gradient]:
    """The prediction of the posterior of one joint, whose arrays have no first axis."""
    k, gradient = part.kernel.cross_and_gradient(part.params, x, part.z)
    v, prior = k @ part.w, part.kernel.diagonal(part.params, x)
    variance, floor = prior - (v * v).sum(-1), FLOOR[str(prior.dtype)] * prior
    return _Predicted(k @ part.a, jnp.maximum(variance, floor), variance > floor, v), gradient


FLOOR = {"float32": 1e-6, "float64": 1e-10}
"""The smallest variance a prediction may have, relative to the prior's: below it rounding errors dominate."""
