"""How particles draw the model's errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.model.posterior import joint, predict
from vfpilco.rollout.draws import Independent, OneFunction

STEPS, PARTICLES = 7, 5


@pytest.fixture(scope="module")
def path(model) -> np.ndarray:
    """GP inputs of every particle and step: training points, moved a little, so that neighbours are correlated."""
    rng = np.random.default_rng(0)
    x = np.asarray(model.posterior.z[0])
    steps = x[rng.integers(len(x) - STEPS, size=PARTICLES)[None] + np.arange(STEPS)[:, None]]
    return steps + 0.1 * x.std(0) * rng.normal(size=steps.shape)


def drawn(draws, posterior, path, z):
    """Means and deviations along a path, (steps, particles, joints) each."""
    posterior = posterior.cast("float64")

    def step(known, given):
        change, known = draws.draw(posterior, known, *given)
        return known, change

    begin = draws.begin(posterior, path.shape[1], len(path))
    walk = jax.jit(lambda p, z: jax.lax.scan(step, begin, (p, z))[1])
    mean = np.asarray(walk(path, jnp.zeros_like(z)))
    return mean, np.asarray(walk(path, z)) - mean


@pytest.fixture(scope="module")
def z() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(STEPS, PARTICLES, 2))


def posterior_covariance(model, j: int, x: np.ndarray) -> np.ndarray:
    """K - K_xz W Wᵀ K_zx, straight from its definition."""
    posterior = model.posterior
    params, points, w = joint((posterior.params, posterior.z, posterior.w), j)
    cross = np.asarray(posterior.kernel.cross(params, jnp.asarray(x), points))
    known = cross @ np.asarray(w)
    prior = np.asarray(posterior.kernel.cross(params, jnp.asarray(x), jnp.asarray(x)))
    return (prior - known @ known.T) * float(posterior.y_scale[j]) ** 2


def test_a_function_is_drawn_from_the_joint_posterior_of_its_values(model, path, z):
    means, deviations = drawn(OneFunction(), model.posterior, path, z)
    for m in range(PARTICLES):
        expected = np.asarray(predict(model.posterior, jnp.asarray(path[:, m]))[0])
        np.testing.assert_allclose(means[:, m], expected, rtol=1e-9)
        for j in range(2):
            root = np.linalg.cholesky(posterior_covariance(model, j, path[:, m]))
            np.testing.assert_allclose(deviations[:, m, j], root @ z[:, m, j], rtol=1e-5, atol=1e-10)


def test_a_particle_that_comes_back_finds_the_same_value(model, path, z):
    again = path.copy()
    again[5] = again[2]
    _, deviations = drawn(OneFunction(), model.posterior, again, z)
    spread = np.sqrt(np.asarray(predict(model.posterior, jnp.asarray(again[2]))[1]))
    assert np.all(np.abs(deviations[5] - deviations[2]) < 1e-3 * spread)
    _, independent = drawn(Independent(), model.posterior, again, z)
    assert np.all(np.abs(independent[5] - independent[2]) > 1e-2 * spread)


def test_the_first_values_are_those_of_independent_draws(model, path, z):
    (mean, deviation), (other_mean, other_deviation) = (
        drawn(draws, model.posterior, path, z) for draws in (OneFunction(), Independent())
    )
    np.testing.assert_allclose(mean, other_mean, rtol=1e-9)
    np.testing.assert_allclose(deviation[0], other_deviation[0], rtol=1e-6)
    assert np.abs(deviation[1:] - other_deviation[1:]).max() > 0
