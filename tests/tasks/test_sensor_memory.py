"""Sensors along a trajectory: on a simulated plant (NumPy) and in the particles (JAX)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common.random import JaxRandom, NumpyRandom
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter, std_at_rest

SENSORS = [
    GaussianNoise((0.1, 0.2)),
    Quantised((0.1, 0.0)),
    PerPosition((Quantised((0.1,)), GaussianNoise((0.2,)))),
    PerPosition((TimingJitter(Quantised((0.1,)), 0.3), GaussianNoise((0.2,)))),
    TimingJitter(GaussianNoise((0.1, 0.2)), 0.3),
    TimingJitter(Quantised((0.1, 0.0)), 0.3, (True, False)),
    TimingJitter(TimingJitter(GaussianNoise((0.1, 0.2)), 0.3), 0.1),
    TimingJitter(PerPosition((Quantised((0.1,)), GaussianNoise((0.2,)))), 0.3),
]
SAMPLES, PARTICLES = 6, 3


def trajectory() -> np.ndarray:
    """True positions, (samples, particles, 2)."""
    return np.cumsum(np.random.default_rng(0).normal(size=(SAMPLES, PARTICLES, 2)), axis=0)


def measured(sensor: Sensor, q, noise) -> np.ndarray:
    """All measurements along a trajectory, with given noise."""
    memory, found = sensor.begin(q[0]), []
    for t in range(len(q)):
        now, memory = sensor.measure(memory, q[t], jax.tree.map(lambda rows, t=t: rows[t], noise))
        found.append(np.asarray(now))
    return np.array(found)


@pytest.mark.parametrize("sensor", SENSORS, ids=repr)
def test_numpy_and_jax_give_the_same_measurements_for_the_same_noise(sensor):
    q = trajectory()
    noise = sensor.noise(JaxRandom(jax.random.key(0), "float64"), q.shape)
    on_jax = measured(sensor, jnp.asarray(q), noise)
    on_numpy = measured(sensor, q, jax.tree.map(np.asarray, noise))
    np.testing.assert_allclose(on_numpy, on_jax, rtol=1e-14)
    assert np.abs(on_numpy - q).max() > 0.01


@pytest.mark.parametrize("sensor", SENSORS, ids=repr)
def test_all_particles_at_once_are_measured_as_each_on_its_own(sensor):
    q = trajectory()
    noise = sensor.noise(NumpyRandom(np.random.default_rng(1)), q.shape)
    together = measured(sensor, q, noise)
    for m in range(PARTICLES):
        alone = measured(sensor, q[:, m], jax.tree.map(lambda rows, m=m: rows[:, m], noise))
        np.testing.assert_array_equal(together[:, m], alone)


@pytest.mark.parametrize("sensor", [s for s in SENSORS if isinstance(s, TimingJitter)], ids=repr)
def test_a_jittering_sensor_begins_at_rest(sensor):
    q = np.broadcast_to(trajectory()[:1], (SAMPLES, PARTICLES, 2))
    noise = sensor.noise(NumpyRandom(np.random.default_rng(1)), q.shape)
    inner, inner_noise = sensor, noise
    while isinstance(inner, TimingJitter):
        inner, inner_noise = inner.sensor, inner_noise[0]
    np.testing.assert_array_equal(measured(sensor, q, noise), measured(inner, q, inner_noise))
    assert std_at_rest(sensor, 2) == std_at_rest(inner, 2)


def test_the_stated_error_of_a_jittering_sensor_is_that_of_its_measurements():
    sensor = TimingJitter(GaussianNoise((0.1, 0.2)), 0.3, (True, False))
    t = np.arange(30.0)[:, None]
    q = np.repeat((t * [2.0, 5.0])[:, None], 4000, axis=1)
    noise = sensor.noise(NumpyRandom(np.random.default_rng(0)), q.shape)
    errors = (measured(sensor, q, noise) - q)[1:]  # it moves from the first sample on
    stated = sensor.error_std(q[:, 0])
    assert stated.shape == (30, 2)
    np.testing.assert_allclose(errors.std((0, 1)), stated[5], rtol=0.02)
    np.testing.assert_allclose(stated[5], [np.hypot(0.1, 0.3 * 2.0), 0.2])
    faster = sensor.error_std(2 * q[:, 0])
    assert np.all(faster[:, 0] > stated[:, 0])
    np.testing.assert_array_equal(faster[:, 1], stated[:, 1])


@pytest.mark.parametrize("sensor", SENSORS, ids=repr)
def test_sensors_can_be_used_as_constants_of_compiled_code(sensor):
    assert hash(sensor) == hash(eval(repr(sensor)))
    q = jnp.asarray(trajectory())
    found = jax.jit(lambda q, key: sensor.noise(JaxRandom(key, q.dtype), q.shape))(q, jax.random.key(0))
    expected = sensor.noise(JaxRandom(jax.random.key(0), "float64"), q.shape)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_timing_jitter_on_a_plant_keeps_the_rounding_of_its_sensor():
    sensor, random = TimingJitter(Quantised((0.1,)), 0.5), NumpyRandom(np.random.default_rng(0))
    q = np.array([0.33])
    at_rest, memory = sensor.observe(sensor.begin(q), q, random)
    assert at_rest.tolist() == pytest.approx([0.3])
    moved, _ = sensor.observe(memory, q + 1.0, random)
    assert moved[0] != pytest.approx(1.3)
