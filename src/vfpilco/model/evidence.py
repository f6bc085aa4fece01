"""The marginal likelihood of a GP's hyperparameters, with their hyperprior, and its gradient; in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotri  # pyright: ignore[reportAttributeAccessIssue]

from vfpilco.model.covariances import cross, weighted_gradient
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
    x: Float[Any, "rows d_x"],
    y: Float[np.ndarray, "N"],
    covariance: Float[np.ndarray, "N N"] | None = None,
) -> float:
    """log p(y | X, θ) with noise σ² C, where C is `covariance` or the identity; rows of `x` beyond N are padding."""
    factor, alpha = _factorise(kernel, theta, x, y, covariance)
    return -_misfit(y, factor, alpha) - 0.5 * len(y) * np.log(2 * np.pi)


def _misfit(y: np.ndarray, factor: np.ndarray, alpha: np.ndarray) -> float:
    """½ yᵀ K⁻¹ y + ½ log |K|."""
    return float(0.5 * y @ alpha + np.log(np.diagonal(factor)).sum())


def _factorise(
    kernel: Kernel, theta: Hyperparameters, x: Any, y: np.ndarray, covariance: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The Cholesky factor of the covariance K, and α = K⁻¹ y; a `LinAlgError` where K is not positive definite."""
    n, variance = len(y), np.exp(2 * theta.log_noise)
    k = np.asarray(cross(kernel, theta.kernel, x, x))[:n, :n]
    k = k + variance * (np.eye(n) if covariance is None else covariance)
    factor = cholesky(k, lower=True, overwrite_a=True, check_finite=False)
    return factor, cho_solve((factor, True), y, check_finite=False)


def loss_and_gradient(
    kernel: Kernel,
    theta: Hyperparameters,
    hyperprior: Hyperprior,
    x: Float[Any, "rows d_x"],
    y: Float[np.ndarray, "N"],
    covariance: Float[np.ndarray, "N N"] | None = None,
) -> tuple[float, Hyperparameters]:
    """Misfit with the hyperprior, and its gradient ½ Σ (K⁻¹ - ααᵀ) ∘ ∂K, which needs no derivative of Cholesky.

    Only the kernel is compiled, for x padded to any size. LAPACK does the rest, on N rows.
    """
    try:
        factor, alpha = _factorise(kernel, theta, x, y, covariance)
    except np.linalg.LinAlgError:  # too far away to be computed
        return np.inf, theta
    # K⁻¹ is symmetric: its lower triangle, counted twice, is enough.
    inverse, _ = dpotri(factor, lower=1)
    weights = 2 * inverse
    np.einsum("ii->i", weights)[:] -= np.diagonal(inverse)
    weights -= np.outer(alpha, alpha)
    padded = np.zeros((len(x), len(x)))
    padded[: len(y), : len(y)] = weights
    of_kernel = weighted_gradient(kernel, theta.kernel, x, x, padded)
    of_noise = np.trace(weights) if covariance is None else np.vdot(weights, covariance)
    penalty, pull = penalty_and_gradient(theta, hyperprior)
    gradient = Hyperparameters(
        jax.tree.map(lambda ours, other: 0.5 * np.asarray(ours) + other, of_kernel, pull.kernel),
        np.exp(2 * theta.log_noise) * of_noise + pull.log_noise,
    )
    return _misfit(y, factor, alpha) + float(penalty), gradient


NOISE_STD = 3.0
"""Standard deviation of the logarithm of the noise around its starting point."""


def penalty_and_gradient(theta: Hyperparameters, hyperprior: Hyperprior) -> tuple[float, Hyperparameters]:
    """The hyperprior's negative log density, which keeps the fit from bad optima, and its gradient."""

    def scaled(t: Any, centre: Any, width: Any) -> Any:
        free = np.asarray(width) > 0
        return np.where(free, t - np.where(free, centre, 0), 0) / np.where(free, width, 1)

    off = jax.tree.map(scaled, theta, *hyperprior)
    pull = jax.tree.map(lambda off, width: off / np.where(np.asarray(width) > 0, width, 1), off, hyperprior.width)
    return 0.5 * sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(off)), pull


def initial(kernel: Kernel, x: np.ndarray, kinds: tuple[str, ...], unit: float = 1.0) -> Hyperprior:
    """Hyperparameters that suit the spread of the data, with noise a tenth of the signal, and how far they may go.

    `unit` is that of the targets, which have unit variance.
    """
    spread = np.maximum(x.std(0), 1e-3 * np.maximum(np.abs(x).max(0), 1e-6))
    centre, width = kernel.hyperprior(GPInputs(kinds, spread, np.hypot(spread, x.mean(0)), unit))
    noise = np.array(np.log(0.1)), np.array(NOISE_STD)
    return Hyperprior(Hyperparameters(centre, noise[0]), Hyperparameters(width, noise[1]))  # pyright: ignore
