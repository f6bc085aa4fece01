"""GP posteriors in the form the particles need, exact or projected on inducing points.

Both forms are the same three arrays: with k = k(x, Z),

    mean(x) = k a,    variance(x) = k(x, x) - ‖k W‖².

Exact: Z = X, and with K = Q κ Qᵀ, a = (K + σ²I)⁻¹ y and W = Q (κ + σ²)^-½. Projected on U inducing points: with
K_zz = L Lᵀ, A = L⁻¹ K_zx / σ and A Aᵀ = E δ Eᵀ, a = L⁻ᵀ (I + A Aᵀ)⁻¹ A y / σ and W = L⁻ᵀ E (δ / (1 + δ))^½; directions
that the data say least about (small δ) are left out of W. Far from the data k = 0 and the variance is the prior's.

The variance is a small difference of large numbers. Written with W, whose columns are directions in which the data
speak, its rounding error in float32 is some 1e-6 of the prior variance; written with the inverse covariance itself it
is orders of magnitude more.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cholesky, solve_triangular

T = TypeVar("T")


def joint(stacked: T, j: int) -> T:
    """What belongs to joint `j` in something stacked over all joints."""
    return jax.tree.map(lambda leaf: leaf[j], stacked)


class Posterior(NamedTuple):
    """The posteriors of all joints, stacked along the first axis, on targets in units of `y_scale`."""

    kernel: Any
    z: Float[Array, "J U d_x"]
    a: Float[Array, "J U"]
    w: Float[Array, "J U R"]
    y_scale: Float[Array, "J"]

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
        kernel, z, a, w = joint(posterior[:4], j)
        k, prior = kernel.cross(x, z), kernel.diagonal(x)
        v = k @ w
        variance = prior - (v * v).sum(-1)
        d_variance = kernel.diagonal_slope(x) - 2 * kernel.slope(x, z, v @ w.T)
        floor = FLOOR[str(prior.dtype)] * prior
        d_variance = jnp.where((variance > floor)[:, None], d_variance, 0)
        return k @ a, jnp.maximum(variance, floor), kernel.slope(x, z, a), d_variance

    return tuple(jnp.stack(parts, axis=1) for parts in zip(*map(one, range(posterior.joints)), strict=True))


FLOOR = {"float32": 1e-6, "float64": 1e-10}
"""The smallest variance a prediction may have, relative to the prior's: below it rounding decides."""


# -- construction, in float64 ------------------------------------------------------------------------------------


class Arrays(NamedTuple):
    """The arrays a and W of one joint, and the jitter that had to be added to factorise."""

    a: Float[np.ndarray, "U"]
    w: Float[np.ndarray, "U R"]
    jitter: float = 0.0


def exact(k_xx: np.ndarray, y: np.ndarray, noise: float, whitener: np.ndarray | None = None) -> Arrays:
    """The exact posterior: every training point, every direction.

    Noise of covariance σ² C, with C = V Vᵀ and V the `whitener`, is white in V⁻¹ y; so is the signal's V⁻¹ K V⁻ᵀ.
    """
    if whitener is not None:
        k_xx = _whitened(whitener, _whitened(whitener, k_xx).T)
        found = exact((k_xx + k_xx.T) / 2, _whitened(whitener, y), noise)
        return Arrays(*(solve_triangular(whitener, array, lower=True, trans=1) for array in (found.a, found.w)))
    kappa, q = np.linalg.eigh(k_xx)
    kappa = np.maximum(kappa, 0) + noise**2
    return Arrays(q @ (q.T @ y / kappa), q / np.sqrt(kappa))


def _whitened(whitener: np.ndarray, array: np.ndarray) -> np.ndarray:
    return solve_triangular(whitener, array, lower=True)


def projected(
    k_zz: np.ndarray, k_zx: np.ndarray, y: np.ndarray, noise: float, rank: int, whitener: np.ndarray | None = None
) -> Arrays:
    """The posterior projected on inducing points, its variance on the `rank` directions the data say most about."""
    if whitener is not None:
        k_zx, y = _whitened(whitener, k_zx.T).T, _whitened(whitener, y)
    lower, jitter = cholesky_with_jitter(k_zz)
    features = solve_triangular(lower, k_zx, lower=True) / noise
    delta, e = np.linalg.eigh(features @ features.T)
    delta, e = np.maximum(delta[::-1], 0), e[:, ::-1]
    a = solve_triangular(lower, e @ (e.T @ (features @ y) / (1 + delta)) / noise, lower=True, trans=1)
    w = solve_triangular(lower, e * np.sqrt(delta / (1 + delta)), lower=True, trans=1)
    return Arrays(a, w[:, :rank], jitter)


def cholesky_with_jitter(k: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower Cholesky factor of a covariance, with as much added to its diagonal as it takes (relative to it)."""
    scale = np.trace(k) / len(k)
    jitter = 1e-10
    while True:
        try:
            return cholesky(k + jitter * scale * np.eye(len(k)), lower=True), jitter
        except np.linalg.LinAlgError:
            jitter *= 10
            if jitter > 1:
                raise


def choose_inducing(k_xx: np.ndarray, count: int) -> np.ndarray:
    """Indices of at most `count` points, each the one that those before it explain worst (pivoted Cholesky)."""
    residual = np.diag(k_xx).copy()
    columns = np.zeros((count, len(k_xx)))
    chosen: list[int] = []
    negligible = 1e-12 * residual.max()
    for i in range(count):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= negligible:
            break
        columns[i] = (k_xx[pivot] - columns[:i, pivot] @ columns[:i]) / np.sqrt(residual[pivot])
        chosen.append(pivot)
        residual = np.maximum(residual - columns[i] ** 2, 0)
        residual[chosen] = -1.0
    return np.array(chosen)
