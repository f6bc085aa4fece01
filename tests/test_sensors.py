from __future__ import annotations

import jax
import numpy as np
import pytest

from vfpilco.errors import UserError
from vfpilco.sensors import GaussianNoise

STD = (1e-3, 2e-3, 0.5)


def test_measurements_scatter_around_the_truth_with_the_stated_deviations():
    rng = np.random.default_rng(0)
    q = np.array([1.0, -2.0, 30.0])
    errors = np.array([GaussianNoise(STD).measure(rng, q) - q for _ in range(20_000)])
    np.testing.assert_allclose(errors.std(0), STD, rtol=0.03)
    np.testing.assert_allclose(errors.mean(0) / STD, 0, atol=0.03)
    np.testing.assert_allclose(np.corrcoef(errors.T), np.eye(3), atol=0.03)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fictitious_noise_is_of_the_same_kind(dtype):
    noise = np.asarray(GaussianNoise(STD).fictitious(jax.random.key(1), (50, 400, 3), dtype))
    assert noise.shape == (50, 400, 3)
    assert noise.dtype == dtype
    np.testing.assert_allclose(noise.std((0, 1)), STD, rtol=0.03)
    np.testing.assert_allclose(noise.mean((0, 1)) / STD, 0, atol=0.03)
    scaled = noise / np.asarray(STD)
    assert abs(np.mean(scaled[1:] * scaled[:-1])) < 0.02  # independent in time
    assert abs(np.mean(scaled[:, 1:] * scaled[:, :-1])) < 0.02  # and between particles
    assert abs(np.mean(scaled[..., 1:] * scaled[..., :-1])) < 0.02  # and between positions


def test_no_noise_measures_exactly():
    q = np.array([0.1, 0.2])
    sensor = GaussianNoise((0.0, 0.0))
    np.testing.assert_array_equal(sensor.measure(np.random.default_rng(0), q), q)
    assert not np.any(sensor.fictitious(jax.random.key(0), (4, 5, 2), "float32"))


@pytest.mark.parametrize("std", [(-1e-3,), (1e-3, float("nan")), (float("inf"),)])
def test_a_deviation_that_makes_no_sense_is_refused(std):
    with pytest.raises(UserError, match="noise must be zero or positive"):
        GaussianNoise(std)
