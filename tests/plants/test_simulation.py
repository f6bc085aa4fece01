"""Simulated plants: when inputs take effect, what else is in the state, and where trials start."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.plants.simulation import SimulatedPlant
from vfpilco.tasks.sensors import GaussianNoise

H = 0.1
EXACT = GaussianNoise((0.0,))


class Integrator(SimulatedPlant):
    """Its speed is its input, so that its path shows which input was applied when; it also counts the time."""

    positions = 1
    hidden = (7.0,)

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([u[0], 0.0, 1.0])


def path(plant: SimulatedPlant, inputs: np.ndarray) -> np.ndarray:
    """The positions from the start on."""
    start = plant.reset(0)
    return np.array([start[0], *(plant.step(np.array([u]))[0] for u in inputs)])


def expected(inputs: np.ndarray, times: np.ndarray, latency: float) -> np.ndarray:
    """The integral of the inputs, each of them applied from its sample plus the latency on."""
    knots = latency + H * np.arange(len(inputs) + 1)
    return np.interp(times, np.concatenate([[0.0], knots]), np.concatenate([[0.0, 0.0], H * np.cumsum(inputs)]))


@pytest.mark.parametrize("latency", [1e-9, 0.03, H, 0.13, 2 * H, 0.25, 3 * H, 0.97])
def test_inputs_take_effect_after_any_latency(latency):
    inputs = np.random.default_rng(1).normal(size=30)
    found = path(Integrator(H, EXACT, latency=latency), inputs)
    np.testing.assert_allclose(found, expected(inputs, H * np.arange(31), latency), atol=1e-9)


@pytest.mark.parametrize("latency", [0.0, 0.5, 2.0])
def test_a_latency_of_two_samples_is_that_of_inputs_moved_by_two_samples(latency):
    """A latency below a sample is applied as before; above, what is left of it is kept for the next samples."""
    inputs = np.random.default_rng(2).normal(size=20)
    late = path(Integrator(H, EXACT, latency=(latency + 2) * H), inputs)
    early = path(Integrator(H, EXACT, latency=latency * H), inputs)
    np.testing.assert_allclose(late[2:], early[:-2], atol=1e-12)
    np.testing.assert_array_equal(late[:3], 0.0)


def test_with_jitter_the_latency_counts_from_the_moment_of_the_sample():
    plant, inputs = Integrator(H, EXACT, latency=0.13, jitter=0.02), np.ones(50)
    found = path(plant, inputs)
    plant.reset(0)
    times = [0.0]
    for u in inputs:
        plant.step(np.array([u]))
        times.append(plant.state[2] - 7.0)
    assert np.std(np.diff(times)) > 0.01
    np.testing.assert_allclose(found, np.maximum(np.array(times) - 0.13, 0.0), atol=1e-9)


def test_no_input_of_the_last_trial_is_left_over():
    plant = Integrator(H, EXACT, latency=0.25)
    first = path(plant, np.full(5, 3.0))
    np.testing.assert_array_equal(path(plant, np.full(5, 3.0)), first)


def test_an_input_that_is_changed_afterwards_is_applied_as_it_was():
    plant, u = Integrator(H, EXACT, latency=H), np.ones(1)
    plant.reset(0)
    plant.step(u)
    u[:] = 5.0
    assert plant.step(np.zeros(1))[0] == pytest.approx(H)


def test_what_else_changes_is_neither_a_position_nor_a_velocity():
    plant = Integrator(H, EXACT)
    plant.reset(0)
    plant.step(np.array([2.0]))
    np.testing.assert_allclose(plant.state, [0.2, 0.0, 7.1])
    assert (plant.true_positions.shape, plant.true_velocities.shape) == ((1,), (1,))
    plant.reset(0)
    assert plant.state[2] == 7.0


class Pair(SimulatedPlant):
    """Two positions that stay where they are."""

    positions = 2

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.zeros(4)


def test_trials_start_around_the_given_positions():
    plant = Pair(H, GaussianNoise((0.0, 0.0)), start=(3.0, -1.0), start_std=(0.1, 0.0))
    starts = np.array([plant.reset(seed) for seed in range(2000)])
    np.testing.assert_allclose(starts.mean(0), [3.0, -1.0], atol=0.01)
    np.testing.assert_allclose(starts.std(0), [0.1, 0.0], rtol=0.05)
    np.testing.assert_array_equal(plant.reset(5), plant.reset(5))


class Puck(SimulatedPlant):
    """It slides without friction."""

    positions = 2

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([state[2], state[3], 0.0, 0.0])


def test_a_plant_may_start_in_motion():
    exact = GaussianNoise((0.0, 0.0))
    puck = Puck(H, exact, start_std=0.1, start_velocity=(1.0, -2.0), start_velocity_std=(0.0, 0.5))
    begun = puck.reset(3)
    np.testing.assert_array_equal(begun, Puck(H, exact, start_std=0.1).reset(3))
    speed = puck.true_velocities
    assert speed[0] == 1.0
    assert 0 < abs(speed[1] + 2.0) < 2.0
    np.testing.assert_allclose(puck.step(np.zeros(1)), begun + H * speed)
    assert puck.reset(3).tolist() == begun.tolist()
    assert puck.reset(4).tolist() != begun.tolist()
