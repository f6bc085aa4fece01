from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.common.random import JaxRandom, NumpyRandom
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter, std_at_rest

STD = (1e-3, 2e-3, 0.5)


def numpy_random(seed: int = 0) -> NumpyRandom:
    return NumpyRandom(np.random.default_rng(seed))


def test_measurements_scatter_around_the_truth_with_the_given_standard_deviations():
    random, sensor = numpy_random(), GaussianNoise(STD)
    q = np.array([1.0, -2.0, 30.0])
    errors = np.array([sensor.observe(sensor.begin(q), q, random)[0] - q for _ in range(20_000)])
    np.testing.assert_allclose(errors.std(0), STD, rtol=0.03)
    np.testing.assert_allclose(errors.mean(0) / STD, 0, atol=0.03)
    np.testing.assert_allclose(np.corrcoef(errors.T), np.eye(3), atol=0.03)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_noise_of_particles_has_the_same_distribution(dtype):
    noise = np.asarray(GaussianNoise(STD).noise(JaxRandom(jax.random.key(1), dtype), (50, 400, 3)))
    assert noise.shape == (50, 400, 3)
    assert noise.dtype == dtype
    np.testing.assert_allclose(noise.std((0, 1)), STD, rtol=0.03)
    np.testing.assert_allclose(noise.mean((0, 1)) / STD, 0, atol=0.03)
    scaled = noise / np.asarray(STD)
    assert abs(np.mean(scaled[1:] * scaled[:-1])) < 0.02  # independent in time
    assert abs(np.mean(scaled[:, 1:] * scaled[:, :-1])) < 0.02  # and between particles
    assert abs(np.mean(scaled[..., 1:] * scaled[..., :-1])) < 0.02  # and between positions


def test_without_noise_measurements_are_exact():
    q = np.array([0.1, 0.2])
    sensor = GaussianNoise((0.0, 0.0))
    np.testing.assert_array_equal(sensor.observe((), q, numpy_random())[0], q)
    assert not np.any(sensor.noise(JaxRandom(jax.random.key(0), "float32"), (4, 5, 2)))


@pytest.mark.parametrize("std", [(-1e-3,), (1e-3, float("nan")), (float("inf"),)])
def test_an_invalid_standard_deviation_is_refused(std):
    with pytest.raises(UserError, match="noise must be zero or positive"):
        GaussianNoise(std)


@pytest.mark.parametrize("step", [(-1e-3,), (1e-3, float("nan"))])
def test_an_invalid_step_is_refused(step):
    with pytest.raises(UserError, match="step must be zero or positive"):
        Quantised(step)


@pytest.mark.parametrize(
    ("sensor", "words"),
    [
        (GaussianNoise((1e-3,)), "1 standard deviations for 2 positions"),
        (Quantised((1e-3,)), "1 steps for 2 positions"),
        (PerPosition((Quantised((1e-3,)),) * 3), "3 sensors for 2 positions"),
    ],
)
def test_a_sensor_for_another_number_of_positions_is_refused(sensor, words):
    with pytest.raises(UserError, match=words):
        sensor.noise(numpy_random(), (2,))


def test_quantised_positions_are_multiples_of_the_step_and_exact_where_it_is_zero():
    sensor, q = Quantised((0.1, 0.0)), np.array([0.234, 0.234])
    np.testing.assert_allclose(sensor.observe((), q, numpy_random())[0], [0.2, 0.234], rtol=1e-12)


def test_the_rounding_error_of_particles_is_uniform_with_the_known_standard_deviation():
    sensor = Quantised((0.1, 0.4))
    noise = np.asarray(sensor.noise(JaxRandom(jax.random.key(0), "float64"), (50, 400, 2)))
    np.testing.assert_allclose(np.abs(noise).max((0, 1)), [0.05, 0.2], rtol=0.01)
    np.testing.assert_allclose(noise.std((0, 1)), sensor.error_std(np.zeros((3, 2))), rtol=0.02)


def test_the_error_of_timing_jitter_grows_with_the_speed_and_leaves_other_positions_alone():
    sensor = TimingJitter(GaussianNoise((0.0, 0.0)), 0.1, affected=(True, False))
    random, errors = numpy_random(), []
    for _ in range(5000):
        memory = sensor.begin(np.array([1.0, 1.0]))
        measured, memory = sensor.observe(memory, np.array([1.0, 1.0]), random)
        np.testing.assert_array_equal(measured, [1.0, 1.0])  # At rest the instant does not matter.
        measured, _ = sensor.observe(memory, np.array([3.0, 4.0]), random)
        errors.append(measured - [3.0, 4.0])
    np.testing.assert_allclose(np.std(errors, axis=0), [0.1 * 2.0, 0.0], rtol=0.03)
    moving = np.stack([2.0 * np.arange(5), 3.0 * np.arange(5)], axis=1)
    np.testing.assert_allclose(sensor.error_std(moving), np.tile([0.2, 0.0], (5, 1)))


def test_timing_jitter_adds_to_the_error_of_its_sensor():
    sensor = TimingJitter(GaussianNoise((0.3,)), 0.1)
    np.testing.assert_allclose(sensor.error_std(4.0 * np.arange(5.0)[:, None]), np.full((5, 1), 0.5))
    assert std_at_rest(sensor, 1) == pytest.approx((0.3,))


@dataclass(frozen=True)
class Delayed(Sensor):
    """Measures the position of the sample before."""

    def begin(self, q):
        return q

    def measure(self, memory, q, noise):
        return memory, q


def test_a_users_own_sensor_may_have_a_memory_and_an_unknown_error():
    sensor, random = Delayed(), numpy_random()
    memory, measured = sensor.begin(np.zeros(1)), []
    for position in (1.0, 2.0, 3.0):
        found, memory = sensor.observe(memory, np.array([position]), random)
        measured.append(found[0])
    assert measured == [0.0, 1.0, 2.0]
    assert std_at_rest(sensor, 1) is None
    jittery = TimingJitter(sensor, 0.1)
    assert jittery.error_std(np.zeros((3, 1))) is None
    found, _ = jittery.measure(jittery.begin(np.zeros((4, 1))), np.ones((4, 1)), (0.0, np.full(4, 0.1)))
    np.testing.assert_allclose(found, np.full((4, 1), 0.1))


# -- a sensor per position ---------------------------------------------------------------------------------------


def test_every_position_has_a_sensor_of_its_own():
    encoder, potentiometer = Quantised((0.1,)), GaussianNoise((0.5,))
    sensor, q, random = PerPosition((encoder, potentiometer, Delayed())), np.array([0.234, 7.0, 3.0]), numpy_random()
    memory, errors = sensor.begin(np.zeros(3)), []
    first, memory = sensor.observe(memory, q, random)
    assert first[2] == 0.0  # where it was at rest
    for _ in range(4000):
        measured, memory = sensor.observe(memory, q, random)
        assert measured[[0, 2]].tolist() == pytest.approx([0.2, 3.0])
        errors.append(measured[1] - 7.0)
    assert np.std(errors) == pytest.approx(0.5, rel=0.05)


def test_the_errors_of_sensors_per_position_are_those_of_each():
    still = PerPosition((Quantised((0.12,)), GaussianNoise((0.5,))))
    np.testing.assert_allclose(still.error_std(np.zeros((4, 2))), [0.12 / np.sqrt(12), 0.5])
    moving = PerPosition((TimingJitter(GaussianNoise((0.3,)), 0.1), GaussianNoise((0.5,))))
    q = np.stack([4.0 * np.arange(5.0), np.zeros(5)], axis=1)
    np.testing.assert_allclose(moving.error_std(q), np.tile([0.5, 0.5], (5, 1)))
    assert std_at_rest(moving, 2) == pytest.approx((0.3, 0.5))
    assert PerPosition((GaussianNoise((0.3,)), Delayed())).error_std(q) is None


@pytest.mark.parametrize("sensors", [GaussianNoise((0.1,)), (0.1, 0.2)])
def test_sensors_per_position_must_be_sensors(sensors, as_users_run_it):
    with pytest.raises(UserError, match="PerPosition needs a tuple of sensors"):
        PerPosition(sensors)
