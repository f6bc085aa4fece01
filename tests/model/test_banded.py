from __future__ import annotations

import numpy as np
import pytest

from vfpilco.model import banded


@pytest.fixture
def matrix() -> np.ndarray:
    """A covariance with two diagonals beside its main one."""
    rng = np.random.default_rng(0)
    mixing = (np.eye(20, 22) - 2 * np.eye(20, 22, 1) + np.eye(20, 22, 2)) * rng.uniform(0.2, 2, 22)
    return mixing @ mixing.T + 0.1 * np.eye(20)


def bands_of(matrix: np.ndarray) -> np.ndarray:
    return np.stack([np.pad(np.diag(matrix, -k), (0, k)) for k in range(3)])


def test_diagonals_are_the_matrix(matrix):
    np.testing.assert_array_equal(banded.dense(bands_of(matrix)), matrix)
    np.testing.assert_array_equal(banded.dense(np.array([[5.0], [1.0], [2.0]])), [[5.0]])  # beyond it there is nothing


def test_whitening_is_solving_with_the_cholesky_factor(matrix):
    factor, columns = np.linalg.cholesky(matrix), np.random.default_rng(1).normal(size=(20, 4))
    bands = banded.cholesky(bands_of(matrix))
    np.testing.assert_allclose(banded.whiten(bands, columns), np.linalg.solve(factor, columns))
    np.testing.assert_allclose(banded.whiten(bands, columns[:, 0]), np.linalg.solve(factor, columns[:, 0]))
    expected = np.linalg.solve(factor.T, columns)
    np.testing.assert_allclose(banded.whiten(bands, columns, transposed=True), expected)
    assert banded.whiten(None, columns) is columns


@pytest.mark.parametrize("diagonals", [1, 2, 3, 7, 20])
def test_diagonals_of_the_inverse(matrix, diagonals):
    inverse = np.linalg.inv(matrix)
    found = banded.inverse_bands(banded.cholesky(bands_of(matrix)), diagonals)
    full = banded.inverse_bands(banded.cholesky(bands_of(matrix)), 20)
    np.testing.assert_allclose(banded.dense(full), inverse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, full[:diagonals], rtol=1e-9, atol=1e-12)


def test_some_rows_and_columns(matrix):
    rows = np.array([0, 1, 2, 7, 9, 10, 19])
    np.testing.assert_array_equal(banded.dense(banded.select(bands_of(matrix), rows)), matrix[np.ix_(rows, rows)])
    both = banded.select(np.stack([bands_of(matrix), bands_of(2 * matrix)]), rows)
    np.testing.assert_array_equal(banded.dense(both[1]), 2 * matrix[np.ix_(rows, rows)])


def test_blocks_share_nothing(matrix):
    joined = banded.dense(banded.block_diagonal([bands_of(matrix), np.ones((1, 4))]))
    expected = np.eye(24)
    expected[:20, :20] = matrix
    np.testing.assert_array_equal(joined, expected)
