"""The predicted band of measurements: it covers what it promises, and includes the sensor's noise."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.rollout.band import band_of, measured
from vfpilco.rollout.particles import Rollout
from vfpilco.tasks.sensors import GaussianNoise, TimingJitter

QUIET = GaussianNoise((0.0, 0.0))


def walks(particles: int, seed: int = 0) -> np.ndarray:
    """Random walks of two positions, the second ten times as far."""
    steps = np.random.default_rng(seed).normal(size=(40, particles, 2)) * (0.1, 1.0)
    return np.concatenate([np.zeros((1, particles, 2)), steps]).cumsum(0)


def rollout(q: np.ndarray) -> Rollout:
    return Rollout(q, np.zeros((len(q) - 1, q.shape[1], 1)), np.zeros(q.shape[:2]))


@pytest.mark.parametrize("probability", [0.9, 0.99])
def test_complete_trials_stay_inside_with_at_least_the_probability(probability):
    band = band_of(rollout(walks(200)), QUIET, probability)
    inside = [~band.outside(walk).any(0) for walk in walks(4000, seed=1).swapaxes(0, 1)[:, :, :]]
    assert np.all(np.mean(inside, axis=0) >= probability - 0.01)
    assert not np.all(inside)  # it is no band that nothing ever leaves


def test_a_higher_probability_is_a_wider_band():
    narrow, wide = (band_of(rollout(walks(200)), QUIET, probability) for probability in (0.9, 0.9999))
    assert np.all(wide.high[1:] >= narrow.high[1:])
    assert np.any(wide.high > narrow.high)


def test_no_particle_is_outside_its_band_where_there_are_two_groups():
    q = np.zeros((5, 200, 2))
    q[1:, :3, 0] = 10.0
    band = band_of(rollout(q), QUIET, 0.9)
    assert band.high[1:, 0] == pytest.approx(10.0)
    assert not band.outside(q[:, 0]).any()


def test_the_noise_of_the_sensor_widens_the_band():
    still = rollout(np.zeros((4, 200, 2)))
    assert not band_of(still, QUIET, 0.999).high.any()
    noisy = band_of(still, GaussianNoise((0.01, 0.0)), 0.999)
    assert np.all((noisy.high[:, 0] > 0.03) & (noisy.high[:, 0] < 0.06))
    assert not noisy.high[:, 1].any()


def test_jitter_is_noise_only_while_the_machine_moves():
    q = np.zeros((4, 200, 2))
    q[2:] = 1.0
    spread = measured(TimingJitter(QUIET, 0.1), q).std(1)
    np.testing.assert_array_equal(spread[[0, 1, 3]], 0)
    assert spread[2] == pytest.approx([0.1, 0.1], rel=0.2)


def test_a_trial_that_ended_early_is_compared_as_far_as_it_goes():
    band = band_of(rollout(walks(50)), QUIET, 0.99)
    far = np.full((3, 2), 100.0)
    assert band.outside(far).shape == (3, 2)
    assert band.outside(far).all()
