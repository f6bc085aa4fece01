"""The marginal likelihood of a GP's hyperparameters, with their hyperprior, and its gradient; in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.compiled import compiled
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.kernels import GPInputs, Hyperprior, Kernel


class Hyperparameters(NamedTuple):
    """Kernel hyperparameters and noise of one GP, on targets of unit variance."""

    kernel: Any
    log_noise: Float[Array, "*J"]


WHITE = 0.02
"""Fraction of correlated noise that is independent: no model is exact to the last digit."""


def noise_covariances(data: TrainingSet) -> list[Float[np.ndarray, "diagonals N"] | None]:
    """C of every GP, the covariance of correlated noise of unit variance (on average), by its diagonals; None: white.

    A target of the velocity-free model is a difference of measured positions and shares measurements with its
    neighbours: C ∝ B Bᵀ, where B says how errors add up. If such noise were taken as independent, the part of it that
    is also in the measured movement in x̃ would be learned as dynamics.
    """
    if data.noise is None:
        return [None] * data.y.shape[1]
    covariances = []
    for together in data.noise:
        size = together[0].sum() / len(data.x)
        covariance = (1 - WHITE) * together / size if size else 0 * together
        covariance[0] += WHITE if size else 1
        covariances.append(covariance)
    return covariances if len(covariances) > 1 else covariances * data.y.shape[1]


def log_marginal_likelihood(
    kernel: Kernel,
    theta: Hyperparameters,
    x: Float[Array, "N d_x"],
    y: Float[Array, "N"],
    mask: Float[Array, "N"],
    covariance: Float[Array, "N N"] | None = None,
) -> Float[Array, ""]:
    """log p(y | X, θ) with noise σ² C, where C is `covariance` or the identity; rows with `mask` = 0 are padding."""
    return -_misfit(y, *_factorise(kernel, theta, x, y, mask, covariance)) - 0.5 * mask.sum() * jnp.log(2 * jnp.pi)


def _misfit(y: Array, factor: Array, alpha: Array) -> Array:
    """½ yᵀ K⁻¹ y + ½ log |K|."""
    return 0.5 * y @ alpha + jnp.log(jnp.diagonal(factor)).sum()


def _factorise(
    kernel: Kernel, theta: Hyperparameters, x: Array, y: Array, mask: Array, covariance: Array | None
) -> tuple[Array, Array]:
    """The Cholesky factor of the covariance K, and α = K⁻¹ y."""
    factor = jnp.linalg.cholesky(_covariance(kernel, theta, x, mask, covariance))
    return factor, jax.scipy.linalg.cho_solve((factor, True), y)


def _covariance(
    kernel: Kernel, theta: Hyperparameters, x: Array, mask: Array, covariance: Array | None
) -> Float[Array, "N N"]:
    signal = kernel.cross(theta.kernel, x, x) * mask[:, None] * mask
    variance = jnp.exp(2 * theta.log_noise)
    if covariance is None:
        return signal + jnp.diag(variance * mask + (1 - mask))
    return signal + variance * covariance + jnp.diag(1 - mask)


@compiled(static_argnames="kernel")
def loss_and_gradient(
    kernel: Kernel,
    theta: Hyperparameters,
    hyperprior: Hyperprior,
    x: Array,
    y: Array,
    mask: Array,
    covariance: Array | None = None,
) -> tuple[Array, Hyperparameters]:
    """Misfit with the hyperprior, and its gradient ½ Σ (K⁻¹ - ααᵀ) ∘ ∂K, which needs no derivative of Cholesky."""
    factor, alpha = _factorise(kernel, theta, x, y, mask, covariance)
    weight = jax.scipy.linalg.cho_solve((factor, True), jnp.eye(len(y))) - jnp.outer(alpha, alpha)
    gradient = jax.grad(lambda theta: 0.5 * (weight * _covariance(kernel, theta, x, mask, covariance)).sum())(theta)
    penalty, pull = jax.value_and_grad(_penalty)(theta, hyperprior)
    return _misfit(y, factor, alpha) + penalty, jax.tree.map(jnp.add, gradient, pull)


NOISE_STD = 3.0
"""Standard deviation of the logarithm of the noise around its starting point."""


def _penalty(theta: Hyperparameters, hyperprior: Hyperprior) -> Array:
    """The hyperprior's negative log density, which keeps the fit from bad optima."""

    def term(t: Array, centre: Array, width: Array) -> Array:
        free = width > 0
        return 0.5 * ((jnp.where(free, t - centre, 0) / jnp.where(free, width, 1)) ** 2).sum()

    return jnp.asarray(sum(jax.tree.leaves(jax.tree.map(term, theta, *hyperprior))))


penalty_and_gradient = compiled()(jax.value_and_grad(_penalty))


def initial(kernel: Kernel, x: np.ndarray, kinds: tuple[str, ...], unit: float = 1.0) -> Hyperprior:
    """Hyperparameters that suit the spread of the data, with noise a tenth of the signal, and how far they may go.

    `unit` is that of the targets, which have unit variance.
    """
    spread = np.maximum(x.std(0), 1e-3 * np.maximum(np.abs(x).max(0), 1e-6))
    centre, width = kernel.hyperprior(GPInputs(kinds, spread, np.hypot(spread, x.mean(0)), unit))
    noise = np.array(np.log(0.1)), np.array(NOISE_STD)
    return Hyperprior(Hyperparameters(centre, noise[0]), Hyperparameters(width, noise[1]))  # pyright: ignore
