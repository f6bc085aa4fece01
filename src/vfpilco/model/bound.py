"""A lower bound of a GP's evidence from inducing points, for many training points, and its gradient; in float64.

With the noise's covariance σ² C, C = V Vᵀ (banded), inducing points Z and K_zz = L Lᵀ, noise is white in

    ŷ = V⁻¹ y,    A = L⁻¹ K_zx V⁻ᵀ,

and with S = A Aᵀ, g = A ŷ, B = I + S / σ² and t = tr(C⁻¹ K_xx) the collapsed bound (Titsias 2009) is, up to a constant,

    F = -½ (N log σ² + log |B| + (ŷᵀ ŷ - gᵀ B⁻¹ g / σ²) / σ²) - (t - tr S) / (2 σ²).

The last term is what the inducing points fail to explain of the prior, and the most that F is below the evidence if all
else is right. With β = B⁻¹ g / σ² its derivatives are

    ∂F/∂S = (I - B⁻¹ - β βᵀ) / (2 σ²),    ∂F/∂g = β / σ²,    ∂F/∂t = -1 / (2 σ²),
    ∂F/∂(K_zx V⁻ᵀ) = L⁻ᵀ (2 ∂F/∂S A + ∂F/∂g ŷᵀ),    ∂F/∂K_zz = -½ L⁻ᵀ (B + B⁻¹ - 2 I + β βᵀ) L⁻¹,

so that only the kernel itself is differentiated automatically. An evaluation takes time N U².
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cho_solve, cholesky, solve_triangular

from vfpilco.common import interrupts
from vfpilco.common.compiled import compiled
from vfpilco.model import banded
from vfpilco.model.covariances import cross, weighted_gradient
from vfpilco.model.evidence import Hyperparameters, Hyperprior, penalty_and_gradient
from vfpilco.model.kernels import Kernel

ROWS = 1000
"""Rows that the kernel is evaluated on at once: compiled once for any number of points, and soon interrupted."""
NEIGHBOURS = 64
"""Diagonals of C⁻¹ in t; they fall off as exp(-0.4 k), and faster where the sensor's error is small."""
REGULARISATION = 1e-10
"""Fraction of its mean that is added to the diagonal of K_zz."""
MOST_GAINED = 0.01
"""What rounding may add to the bound, in nats: where the signal is very far above the noise it would add any number."""


class Targets(NamedTuple):
    """The targets of one GP and their noise."""

    whitened: Float[np.ndarray, "N"]
    """ŷ."""
    factor: Float[np.ndarray, "diagonals N"] | None
    """V by its diagonals; None if the noise is white."""
    inverse: Float[np.ndarray, "neighbours N"]
    """The first diagonals of C⁻¹, those beside the main one doubled."""

    @staticmethod
    def of(y: Float[np.ndarray, "N"], covariance: Float[np.ndarray, "diagonals N"] | None) -> Targets:
        """Targets `y` with noise of that covariance, up to a factor; None: white."""
        if covariance is None:
            return Targets(y, None, np.ones((1, len(y))))
        factor = banded.cholesky(covariance)
        inverse = banded.inverse_bands(factor, min(NEIGHBOURS, len(y)))
        inverse[1:] *= 2
        return Targets(banded.whiten(factor, y), factor, inverse)


@dataclass(frozen=True)
class Bound:
    """The bound as a function of the hyperparameters, for given data and inducing points."""

    kernel: Kernel
    x: Float[np.ndarray, "N d_x"]
    targets: Targets
    z: Float[np.ndarray, "U d_x"]
    hyperprior: Hyperprior

    def loss(self, theta: Hyperparameters) -> tuple[float, Hyperparameters]:
        """-F with the hyperprior's penalty, and its gradient."""
        try:
            value, gradient = self.value_and_gradient(theta)
        except np.linalg.LinAlgError:  # too far away to be computed
            return np.inf, theta
        penalty, pull = penalty_and_gradient(theta, self.hyperprior)
        return penalty - value, jax.tree.map(lambda ours, other: np.asarray(other) - ours, gradient, pull)

    def value_and_gradient(self, theta: Hyperparameters) -> tuple[float, Hyperparameters]:
        """F, without the constant -½ (log |C| + N log 2π), and its gradient."""
        n, one, (y, factor, _) = len(self.x), np.eye(len(self.z)), self.targets
        variance = float(np.exp(2 * theta.log_noise))
        k = self._cross(theta.kernel)
        inverse = solve_triangular(_cholesky(_regularised(k[:, n:])), one, lower=True)  # L⁻¹
        a = inverse @ banded.whiten(factor, k[:, :n].T).T
        s, g = a @ a.T, a @ y
        prior, of_prior = self._trace(theta.kernel)
        b = one + s / variance
        b_lower = _cholesky(b)
        b_inverse = cho_solve((b_lower, True), one)
        beta = b_inverse @ g / variance
        misfit, unexplained = y @ y - g @ beta, prior - np.trace(s)
        if min(misfit, unexplained) < -2 * MOST_GAINED * variance:  # both are positive but for rounding
            raise np.linalg.LinAlgError("The signal is too far above the noise.")
        volume = n * np.log(variance) + 2 * np.log(np.diag(b_lower)).sum()
        value = -0.5 * (volume + (misfit + unexplained) / variance)

        outer = np.outer(beta, beta)
        of_p = (inverse.T @ (one - b_inverse - outer)) @ a + np.outer(inverse.T @ beta, y)
        of_zx = banded.whiten(factor, of_p.T / variance, transposed=True).T
        of_zz = -0.5 * inverse.T @ (b + b_inverse - 2 * one + outer) @ inverse
        of_zz += REGULARISATION * np.trace(of_zz) / len(one) * one
        of_k = self._pull(theta.kernel, np.concatenate([of_zx, of_zz], axis=1))
        of_kernel = jax.tree.map(lambda cross, trace: cross - 0.5 * trace / variance, of_k, of_prior)
        residual = (misfit - g @ beta + beta @ s @ beta + unexplained) / variance
        of_noise = np.asarray(residual - n + len(one) - np.trace(b_inverse))
        return float(value), Hyperparameters(of_kernel, of_noise)  # pyright: ignore[reportArgumentType]

    def _cross(self, params: Any) -> Float[np.ndarray, "U rows"]:
        """k(z, x) and, beside it, k(z, z)."""
        parts = []
        for part in self._rows:
            interrupts.check()
            parts.append(np.asarray(cross(self.kernel, params, self.z, part)))
        return np.concatenate(parts, axis=1)[:, : len(self.x) + len(self.z)]

    def _pull(self, params: Any, weights: Float[np.ndarray, "U rows"]) -> Any:
        """The gradient of Σ weights ∘ (k(z, x), k(z, z))."""
        pairs = zip(self._rows, _parts(weights.T), strict=True)
        return _total(weighted_gradient(self.kernel, params, self.z, part, weight.T) for part, weight in pairs)

    def _trace(self, params: Any) -> tuple[float, Any]:
        """t and its gradient."""
        value, gradient = _total(_neighbours(self.kernel, params, *part) for part in self._neighbourhoods)
        return float(value), gradient

    @cached_property
    def _rows(self) -> list[Array]:
        """x and, below it, z, in parts."""
        return [jnp.asarray(part) for part in _parts(np.concatenate([self.x, self.z]))]

    @cached_property
    def _neighbourhoods(self) -> list[tuple[Array, ...]]:
        """x, the points that follow each of its rows, and the entries of C⁻¹ for these pairs, in parts."""
        weights = self.targets.inverse.T
        beside = np.minimum(np.arange(len(self.x))[:, None] + np.arange(weights.shape[1]), len(self.x) - 1)
        parts = zip(_parts(self.x), _parts(self.x[beside]), _parts(weights), strict=True)
        return [tuple(map(jnp.asarray, part)) for part in parts]


def _regularised(k_zz: np.ndarray) -> np.ndarray:
    return k_zz + REGULARISATION * np.trace(k_zz) / len(k_zz) * np.eye(len(k_zz))


def _cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower factor; a `LinAlgError` also where values are not finite."""
    return cholesky(matrix, lower=True, check_finite=False)


def _parts(array: np.ndarray) -> list[np.ndarray]:
    """An array in parts of `ROWS` rows, the last one padded with zeros."""
    missing = -len(array) % ROWS
    padded = np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1)) if missing else array
    return [padded[i : i + ROWS] for i in range(0, len(padded), ROWS)]


def _total(parts: Iterable[Any]) -> Any:
    """The sum of some trees; a request to stop is checked for between them."""
    total = None
    for part in parts:
        interrupts.check()
        part = jax.tree.map(np.asarray, part)
        total = part if total is None else jax.tree.map(np.add, total, part)
    return total


@compiled(static_argnames="kernel")
def _neighbours(kernel: Kernel, params: Any, x: Array, beside: Array, weights: Array) -> tuple[Array, Any]:
    """Σ_ik weights_ik k(x_i, beside_ik), and its gradient."""

    def total(params: Any) -> Array:
        k = jax.vmap(lambda one, others: kernel.cross(params, one[None], others)[0])(x, beside)
        return (weights * k).sum()

    return jax.value_and_grad(total)(params)
