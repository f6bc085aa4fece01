from __future__ import annotations

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common import interrupts
from vfpilco.model import bound
from vfpilco.model.bound import REGULARISATION, Bound, Targets
from vfpilco.model.evidence import Hyperparameters, initial
from vfpilco.model.kernels import SE, Poly

N, U = 40, 12
KERNEL = SE() * Poly(1)


@pytest.fixture(params=["white", "correlated"])
def covariance(request) -> np.ndarray | None:
    if request.param == "white":
        return None
    mixing = np.eye(N, N + 2) - 2 * np.eye(N, N + 2, 1) + np.eye(N, N + 2, 2)
    mixing *= np.random.default_rng(3).uniform(0.3, 2, N + 2)
    return 0.98 / 6 * mixing @ mixing.T + 0.02 * np.eye(N)


@pytest.fixture
def problem(covariance, monkeypatch) -> tuple[Bound, Hyperparameters, np.ndarray]:
    """A bound of few points, evaluated in parts, hyperparameters, and the targets."""
    monkeypatch.setattr(bound, "ROWS", 16)
    monkeypatch.setattr(bound, "NEIGHBOURS", N)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=N)
    bands = covariance
    if covariance is not None:
        bands = np.stack([np.pad(np.diag(covariance, -k), (0, k)) for k in range(3)])
    hyperprior = initial(KERNEL, x, ())
    theta = jax.tree.map(lambda leaf: leaf + 0.2 * rng.normal(size=np.shape(leaf)), hyperprior.centre)
    made = Bound(KERNEL, x, Targets.of(y, bands), x[:U], jax.tree.map(jnp.asarray, hyperprior))
    return made, jax.tree.map(np.asarray, theta), y


def dense_terms(problem, covariance) -> tuple[float, float]:
    """The bound by dense formulas, and the evidence, both without log 2π and with |C| = 1."""
    made, theta, y = problem
    c = np.eye(N) if covariance is None else covariance
    k = np.asarray(KERNEL.cross(theta.kernel, jnp.asarray(made.x), jnp.asarray(made.x)))
    k_zz = k[:U, :U] + REGULARISATION * np.trace(k[:U, :U]) / U * np.eye(U)
    q, variance = k[:, :U] @ np.linalg.solve(k_zz, k[:U]), np.exp(2 * theta.log_noise)

    def density(signal: np.ndarray) -> float:
        total = signal + variance * c
        volume = np.linalg.slogdet(total)[1] - np.linalg.slogdet(c)[1]
        return -0.5 * (y @ np.linalg.solve(total, y) + volume)

    return density(q) - np.trace(np.linalg.solve(c, k - q)) / (2 * variance), density(k)


def test_the_bound_agrees_with_the_dense_formula_and_is_below_the_evidence(problem, covariance):
    value, _ = problem[0].value_and_gradient(problem[1])
    expected, evidence = dense_terms(problem, covariance)
    assert value == pytest.approx(expected, rel=1e-7)
    assert value < evidence


def test_with_every_point_the_bound_is_the_evidence(problem, covariance):
    made, theta, _ = problem
    every = Bound(made.kernel, made.x, made.targets, made.x, made.hyperprior)
    assert every.value_and_gradient(theta)[0] == pytest.approx(dense_terms(problem, covariance)[1], rel=1e-5)


def test_the_gradient_agrees_with_finite_differences(problem):
    made, theta, _ = problem
    flat, unflatten = jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, theta))
    gradient = jax.flatten_util.ravel_pytree(made.loss(theta)[1])[0]
    for i in range(len(flat)):
        h = 1e-5 * np.eye(len(flat))[i]
        up, down = (made.loss(unflatten(flat + s * h))[0] for s in (1, -1))
        assert float(gradient[i]) == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-4)


def test_a_request_to_stop_ends_an_evaluation(problem, monkeypatch):
    monkeypatch.setattr(interrupts, "_requested", True)
    with pytest.raises(KeyboardInterrupt):
        problem[0].value_and_gradient(problem[1])


def smooth(signal: float, noise: float) -> tuple[Bound, Hyperparameters, float]:
    """A bound of a slow motion measured with noise of second differences, hyperparameters, and tr(C⁻¹ K)."""
    n = 300
    mixing = np.eye(n, n + 2) - 2 * np.eye(n, n + 2, 1) + np.eye(n, n + 2, 2)
    c = 0.98 / 6 * mixing @ mixing.T + 0.02 * np.eye(n)
    bands = np.stack([np.pad(np.diag(c, -k), (0, k)) for k in range(3)])
    x = np.stack([np.sin(0.02 * np.arange(n)), np.cos(0.03 * np.arange(n))], 1)
    y = x[:, 0] + 0.05 * np.random.default_rng(0).normal(size=n)
    hyperprior = initial(KERNEL, x, ())
    theta = Hyperparameters(KERNEL.rescale(hyperprior.centre.kernel, np.log(signal)), np.array(np.log(noise)))
    made = Bound(KERNEL, x, Targets.of(y, bands), x[:: n // 30], jax.tree.map(jnp.asarray, hyperprior))
    k = np.asarray(KERNEL.cross(theta.kernel, jnp.asarray(x), jnp.asarray(x)))
    return made, theta, float(np.trace(np.linalg.solve(c, k)))


def test_enough_diagonals_are_counted_of_noise_with_neighbours():
    made, theta, trace = smooth(signal=1.0, noise=0.05)
    assert made._trace(theta.kernel)[0] == pytest.approx(trace, rel=1e-10)


def test_a_signal_too_far_above_the_noise_gains_nothing():
    """There rounding would make the bound as large as the signal is."""
    made, theta, _ = smooth(signal=1e9, noise=0.01)
    with pytest.raises(np.linalg.LinAlgError):
        made.value_and_gradient(theta)
    assert made.loss(theta)[0] == np.inf
