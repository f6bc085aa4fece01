"""Symmetric banded matrices, such as the covariance of noise that neighbouring samples share.

A matrix C with p diagonals below its main one is an array of p + 1 rows, C[i + k, i] in row k and column i (LAPACK's
lower form). Everything here takes time and memory that grow in proportion to its size N, not as its square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky_banded
from scipy.linalg.lapack import dtbtrs  # pyright: ignore[reportAttributeAccessIssue]

Bands = Float[np.ndarray, "diagonals N"]


def dense(bands: Bands) -> Float[np.ndarray, "N N"]:
    """The matrix itself.

    Example:
        >>> dense(np.array([[2.0, 2.0], [1.0, 0.0]]))
        array([[2., 1.],
               [1., 2.]])
    """
    n = bands.shape[1]
    matrix = np.diag(bands[0])
    for k, band in enumerate(bands[1:n], start=1):
        rows = np.arange(n - k)
        matrix[rows + k, rows] = matrix[rows, rows + k] = band[: n - k]
    return matrix


def block_diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """The block-diagonal matrix of several; with leading dimensions, for each of their entries."""
    most = max(block.shape[-2] for block in blocks)
    wide = [np.pad(b, [(0, 0)] * (b.ndim - 2) + [(0, most - b.shape[-2]), (0, 0)]) for b in blocks]
    return np.concatenate(wide, axis=-1)


def select(bands: Float[np.ndarray, "*C diagonals N"], rows: np.ndarray) -> Float[np.ndarray, "*C diagonals M"]:
    """The rows and columns of these ascending indices; with leading dimensions, for each of their entries."""
    most, count = bands.shape[-2] - 1, len(rows)
    chosen = np.zeros((*bands.shape[:-1], count))
    for k in range(min(most + 1, count)):
        gap = rows[k:] - rows[: count - k]
        chosen[..., k, : count - k] = np.where(gap <= most, bands[..., np.minimum(gap, most), rows[: count - k]], 0)
    return chosen


def cholesky(bands: Bands) -> Bands:
    """V of C = V Vᵀ, a lower triangle with as many diagonals."""
    return cholesky_banded(bands, lower=True)


def whiten(factor: Bands | None, array: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """V⁻¹ times the columns of an array, or V⁻ᵀ times them; the array itself if there is no factor V.

    Noise of covariance C = V Vᵀ is white in V⁻¹ y.
    """
    if factor is None:
        return array
    columns = array[:, None] if array.ndim == 1 else array
    solved, failed = dtbtrs(factor, columns, uplo="L", trans="T" if transposed else "N")
    if failed:
        raise np.linalg.LinAlgError("a banded Cholesky factor is singular")
    return solved[:, 0] if array.ndim == 1 else solved


def inverse_bands(factor: Bands, diagonals: int) -> Float[np.ndarray, "{diagonals} N"]:
    """Diagonals 0 … `diagonals` - 1 of C⁻¹, for the factor V of C = V Vᵀ.

    Z = C⁻¹ satisfies Vᵀ Z = V⁻¹, whose upper triangle is zero, so that its rows follow from the last to the first:

        Z_ij = (δ_ij / V_ii - Σ_{k > i} V_ki Z_kj) / V_ii,    j ≥ i.
    """
    below, n = len(factor) - 1, factor.shape[1]
    most = max(diagonals, below + 1)
    rows = np.zeros((n + most, most))  # rows[i, k] is Z[i, i + k]
    k, j = np.arange(1, below + 1)[:, None], np.arange(1, most)
    first, gap = np.minimum(k, j), np.abs(k - j)  # where Z[i + k, i + j] is found, as Z is symmetric
    for i in range(n - 1, -1, -1):
        v = factor[1:, i] / factor[0, i]
        rows[i, 1:] = -v @ rows[i + first, gap]
        rows[i, 0] = 1 / factor[0, i] ** 2 - v @ rows[i, 1 : below + 1]
    return rows[:n, :diagonals].T.copy()
