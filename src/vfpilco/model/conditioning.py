"""Conditioning GPs on data: the arrays of their posteriors, in float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from vfpilco.model import projection
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.evidence import Hyperparameters, noise_covariances
from vfpilco.model.kernels import Kernel
from vfpilco.model.model import Model
from vfpilco.model.posterior import Posterior, joint


def posterior_size(rows: int, inducing: int | None) -> tuple[int, int]:
    """Points and variance directions of the posterior of a run that ends with `rows` training points.

    All of them if `inducing` is None or not fewer. Otherwise that many, and a quarter more beyond eight times as many
    training points; variance is kept in `inducing` / 2 directions.
    """
    if inducing is None or inducing >= rows:
        return rows, rows
    return inducing if rows <= 8 * inducing else inducing + inducing // 4, inducing // 2


def condition(
    kernel: Kernel, theta: Hyperparameters, data: TrainingSet, y_scale: np.ndarray, inducing: int | None
) -> tuple[Posterior, float]:
    """Condition the GPs of all joints on a training set.

    Args:
        kernel: The covariance function.
        theta: The hyperparameters of all GPs, stacked.
        data: The training set; the posterior is padded with zeros to the size it has at its capacity.
        y_scale: The unit of every GP's targets.
        inducing: The number of inducing points, or None for the exact posterior.

    Returns:
        The posterior, and the fraction that had to be added to a diagonal to factorise it.
    """
    x, y = data.x, (data.y - data.prior) / y_scale
    covariances = noise_covariances(data)
    points, rank = posterior_size(data.rows, inducing)
    padded = _pad(x, data.rows)
    parts, added = [], 0.0
    for j in range(y.shape[1]):
        params, log_noise = joint(theta, j)
        k = np.asarray(_gram(kernel, params, padded))[: len(x), : len(x)]
        noise = float(np.exp(log_noise))
        whitener = None if covariances[j] is None else cholesky(covariances[j], lower=True)
        if points == data.rows:
            z, arrays = x, projection.exact(k, y[:, j], noise, whitener)
        else:
            chosen = projection.choose_inducing(k, min(points, len(x)))
            z = x[chosen]
            arrays = projection.projected(k[np.ix_(chosen, chosen)], k[chosen], y[:, j], noise, rank, whitener)
        added = max(added, arrays.added)
        parts.append((_pad(z, points), _pad(arrays.a, points), _pad(_pad(arrays.w, points).T, rank).T))
    z, a, w = (np.stack(part) for part in zip(*parts, strict=True))
    return Posterior(kernel, theta.kernel, z, a, w, y_scale), added  # pyright: ignore[reportArgumentType]


@threadpool_limits.wrap(limits=1, user_api="blas")
def predict_exactly(model: Model, data: TrainingSet, x: Float[np.ndarray, "M d_x"]) -> tuple[np.ndarray, np.ndarray]:
    """What `model.predict` would return with the exact posterior of its training set `data`."""
    y_scale = np.asarray(model.posterior.y_scale)
    n, padded, kernel = len(data.x), _pad(data.x, data.rows), model.kernel
    covariances = noise_covariances(data)
    means, variances = [], []
    for j, y in enumerate(((data.y - data.prior) / y_scale).T):
        params, log_noise = joint(model.hyperparameters, j)
        covariance = np.eye(n) if covariances[j] is None else covariances[j]
        k = np.asarray(_gram(kernel, params, padded))[:n, :n] + np.exp(2 * log_noise) * covariance
        lower, _ = projection.regularised_cholesky(k)
        v = solve_triangular(lower, np.asarray(_cross(kernel, params, padded, x))[:n], lower=True)
        means.append(solve_triangular(lower, y, lower=True) @ v)
        prior = np.asarray(kernel.diagonal(params, jnp.asarray(x)))
        variances.append(prior - (v * v).sum(0))
    return np.stack(means, 1) * y_scale, np.stack(variances, 1) * y_scale**2


def _pad(array: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(array, [(0, rows - len(array))] + [(0, 0)] * (array.ndim - 1))


@partial(jax.jit, static_argnames="kernel")
def _gram(kernel: Kernel, params: Any, x: Array) -> Array:
    return kernel.cross(params, x, x)


@partial(jax.jit, static_argnames="kernel")
def _cross(kernel: Kernel, params: Any, x: Array, z: Array) -> Array:
    return kernel.cross(params, x, z)
