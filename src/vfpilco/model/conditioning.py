"""Conditioning GPs on data: the arrays of their posteriors, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from vfpilco.common import interrupts
from vfpilco.model import banded, projection
from vfpilco.model.covariances import cross, diagonal
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.evidence import Hyperparameters, noise_covariances
from vfpilco.model.kernels import Kernel
from vfpilco.model.model import Model, padded_inputs
from vfpilco.model.posterior import Posterior, joint
from vfpilco.model.threads import side_by_side

CANDIDATES = 4000
"""The most training points that inducing points are chosen from; of more, evenly spaced ones."""
EXACT_REFERENCE = 2000
"""Training points up to which a projected posterior is compared with the exact one, whose time grows as their cube."""
REFERENCE = 1024
"""The inducing points of the posterior it is compared with beyond that."""


def posterior_size(rows: int, inducing: int) -> tuple[int, int]:
    """Points and variance directions of the posterior of a run that ends with `rows` training points.

    All of them if `inducing` is 0 or not fewer. Otherwise that many, and a quarter more beyond eight times as many
    training points; variance is kept in `inducing` / 2 directions.
    """
    if not 0 < inducing < rows:
        return rows, rows
    return inducing if rows <= 8 * inducing else inducing + inducing // 4, inducing // 2


@dataclass(frozen=True)
class Prior:
    """The prior covariances of one GP between training points, computed only where they are needed."""

    kernel: Kernel
    params: Any
    x: Float[np.ndarray, "N d_x"]
    rows: int
    """The size that arrays are padded to, so that nothing is compiled again for more points."""

    def with_all(self, z: np.ndarray, padding: int) -> Float[np.ndarray, "N U"]:
        """The covariances of all points with the rows of `z`, padded to that many."""
        found = cross(self.kernel, self.params, _pad(self.x, self.rows), _pad(z, padding))
        return np.asarray(found)[: len(self.x), : len(z)]

    def choose(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the points that explain the others best, and what they leave unexplained, on average."""
        most = min(self.rows, CANDIDATES)
        candidates = np.linspace(0, len(self.x) - 1, min(len(self.x), most)).round().astype(int)
        x = _pad(self.x[candidates], most)
        on_device = jnp.asarray(x)

        def column(i: int) -> np.ndarray:
            interrupts.check()
            return np.asarray(cross(self.kernel, self.params, on_device, x[i : i + 1]))[: len(candidates), 0]

        own = np.asarray(diagonal(self.kernel, self.params, on_device))[: len(candidates)]
        chosen, unexplained = projection.choose_inducing(own, column, min(count, len(candidates)))
        return candidates[chosen], unexplained / len(candidates)


def condition(
    kernel: Kernel, theta: Hyperparameters, data: TrainingSet, y_scale: np.ndarray, inducing: int
) -> tuple[Posterior, float]:
    """Condition the GPs of all joints on a training set, side by side.

    Args:
        kernel: The covariance function.
        theta: The hyperparameters of all GPs, stacked.
        data: The training set; the posterior is padded with zeros to the size it has at its capacity.
        y_scale: The unit of every GP's targets.
        inducing: The number of inducing points; 0: the exact posterior.

    Returns:
        The posterior, and the fraction that had to be added to a diagonal to factorise it.
    """
    x, y = data.x, (data.y - data.prior) / y_scale
    covariances = noise_covariances(data)
    points, rank = posterior_size(data.rows, inducing)

    def one(j: int) -> tuple[np.ndarray, projection.Arrays]:
        interrupts.check()
        params, log_noise = joint(theta, j)
        prior, noise = Prior(kernel, params, x, data.rows), float(np.exp(log_noise))
        covariance = covariances[j]
        factor = None if covariance is None else banded.cholesky(covariance)
        if points == data.rows:
            return x, projection.exact(prior.with_all(x, data.rows), y[:, j], noise, factor)
        return _projected(prior, y[:, j], noise, points, rank, factor)

    found = side_by_side(one, range(y.shape[1]))
    z = np.stack([_pad(z, points) for z, _ in found])
    a = np.stack([_pad(arrays.a, points) for _, arrays in found])
    w = np.stack([_pad(_pad(arrays.w, points).T, rank).T for _, arrays in found])
    added = max(arrays.added for _, arrays in found)
    return Posterior(kernel, theta.kernel, z, a, w, y_scale), added  # pyright: ignore[reportArgumentType]


def _projected(
    prior: Prior, y: np.ndarray, noise: float, points: int, rank: int, factor: np.ndarray | None
) -> tuple[np.ndarray, projection.Arrays]:
    """The inducing points of one GP, and its posterior projected on them."""
    chosen, _ = prior.choose(points)
    z = prior.x[chosen]
    k_xz = prior.with_all(z, points)
    return z, projection.projected(k_xz[chosen], k_xz.T, y, noise, rank, factor)


@threadpool_limits.wrap(limits=1, user_api="blas")
def predict_reference(model: Model, data: TrainingSet, x: Float[np.ndarray, "M d_x"]) -> tuple[np.ndarray, np.ndarray]:
    """What `model.predict` would return with the exact posterior of its training set `data`.

    The exact one takes too long beyond `EXACT_REFERENCE` training points: there it is a posterior projected on
    `REFERENCE` inducing points, in all directions.
    """
    y_scale = np.asarray(model.posterior.y_scale)
    y = (data.y - data.prior) / y_scale
    covariances, most = noise_covariances(data), min(data.rows, EXACT_REFERENCE)
    padded = padded_inputs(x)

    def one(j: int) -> tuple[np.ndarray, np.ndarray]:
        interrupts.check()
        params, log_noise = joint(model.hyperparameters, j)
        noise, c = float(np.exp(log_noise)), covariances[j]
        variance = np.asarray(diagonal(model.kernel, params, padded))[: len(x)]
        if len(data.x) > EXACT_REFERENCE:
            prior, factor = Prior(model.kernel, params, data.x, data.rows), None if c is None else banded.cholesky(c)
            z, arrays = _projected(prior, y[:, j], noise, REFERENCE, REFERENCE, factor)
            k = np.asarray(cross(model.kernel, params, padded, _pad(z, REFERENCE)))[: len(x), : len(z)]
            return k @ arrays.a, variance - ((k @ arrays.w) ** 2).sum(1)
        prior = Prior(model.kernel, params, data.x, most)
        covariance = np.eye(len(data.x)) if c is None else banded.dense(c)
        lower, _ = projection.regularised_cholesky(prior.with_all(data.x, most) + noise**2 * covariance)
        v = solve_triangular(lower, prior.with_all(x, len(padded)), lower=True)
        return solve_triangular(lower, y[:, j], lower=True) @ v, variance - (v * v).sum(0)

    means, variances = (np.stack(part, 1) for part in zip(*side_by_side(one, range(y.shape[1])), strict=True))
    return means * y_scale, variances * y_scale**2


def _pad(array: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(array, [(0, rows - len(array))] + [(0, 0)] * (array.ndim - 1))
