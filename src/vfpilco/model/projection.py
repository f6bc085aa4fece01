"""The arrays of GP posteriors, exact or projected on inducing points, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

from vfpilco.model.banded import Bands, whiten


class Arrays(NamedTuple):
    """The arrays a and W of one joint, and the fraction that had to be added to a diagonal to factorise it."""

    a: Float[np.ndarray, "U"]
    w: Float[np.ndarray, "U R"]
    added: float = 0.0


def exact(k_xx: np.ndarray, y: np.ndarray, noise: float, factor: Bands | None = None) -> Arrays:
    """The exact posterior: every training point, every direction.

    Noise of covariance σ² C, with C = V Vᵀ and V the `factor`, is white in V⁻¹ y; so is the signal's V⁻¹ K V⁻ᵀ.
    """
    if factor is not None:
        k_xx = whiten(factor, whiten(factor, k_xx).T)
        found = exact((k_xx + k_xx.T) / 2, whiten(factor, y), noise)
        a, w = (whiten(factor, array, transposed=True) for array in (found.a, found.w))
        return Arrays(a, w)
    kappa, q = np.linalg.eigh(k_xx)
    kappa = np.maximum(kappa, 0) + noise**2
    return Arrays(q @ (q.T @ y / kappa), q / np.sqrt(kappa))


def projected(
    k_zz: np.ndarray, k_zx: np.ndarray, y: np.ndarray, noise: float, rank: int, factor: Bands | None = None
) -> Arrays:
    """The posterior projected on inducing points, its variance on the `rank` best determined directions."""
    k_zx, y = whiten(factor, k_zx.T).T, whiten(factor, y)
    lower, added = regularised_cholesky(k_zz)
    features = solve_triangular(lower, k_zx, lower=True) / noise
    delta, e = np.linalg.eigh(features @ features.T)
    delta, e = np.maximum(delta[::-1], 0), e[:, ::-1]
    a = solve_triangular(lower, e @ (e.T @ (features @ y) / (1 + delta)) / noise, lower=True, trans=1)
    w = solve_triangular(lower, e * np.sqrt(delta / (1 + delta)), lower=True, trans=1)
    return Arrays(a, w[:, :rank], added)


def regularised_cholesky(k: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower Cholesky factor of a covariance, and the fraction of its diagonal that had to be added to it."""
    scale = np.trace(k) / len(k)
    added = 1e-10
    while True:
        try:
            return cholesky(k + added * scale * np.eye(len(k)), lower=True), added
        except np.linalg.LinAlgError:
            added *= 10
            if added > 1:
                raise


def choose_inducing(
    diagonal: Float[np.ndarray, "N"], column: Callable[[int], Float[np.ndarray, "N"]], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose at most `count` points, each the one that those before it explain worst (pivoted Cholesky).

    Args:
        diagonal: The prior variance of every point.
        column: The covariances of one point, by its index, with all.
        count: The most points.

    Returns:
        The indices of the points, and the sum of the variances that each leaves unexplained.
    """
    residual = diagonal.copy()
    columns = np.zeros((count, len(diagonal)))
    chosen: list[int] = []
    unexplained: list[float] = []
    negligible = 1e-12 * residual.max()
    for i in range(count):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= negligible:
            break
        columns[i] = (column(pivot) - columns[:i, pivot] @ columns[:i]) / np.sqrt(residual[pivot])
        chosen.append(pivot)
        residual = np.maximum(residual - columns[i] ** 2, 0)
        unexplained.append(float(residual.sum()))
        residual[chosen] = -1.0
    return np.array(chosen), np.array(unexplained)
