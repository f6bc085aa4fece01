"""The arrays of GP posteriors, exact or projected on inducing points, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular


class Arrays(NamedTuple):
    """The arrays a and W of one joint, and the fraction that had to be added to a diagonal to factorise it."""

    a: Float[np.ndarray, "U"]
    w: Float[np.ndarray, "U R"]
    added: float = 0.0


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
    """The posterior projected on inducing points, its variance on the `rank` best determined directions."""
    if whitener is not None:
        k_zx, y = _whitened(whitener, k_zx.T).T, _whitened(whitener, y)
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
