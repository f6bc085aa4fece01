"""The declared sensor is kept unless the measurements clearly disagree."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

import vfpilco
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.machines.cartpole.task import SAMPLING_TIME, SENSOR
from vfpilco.recordings.noise import FACTOR, Declared, Scatter, scatters
from vfpilco.state.filtered import Filtered
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter, Undeclared, std_at_rest
from vfpilco.trials.execute import execute
from vfpilco.trials.knowledge import Knowledge
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import RunResult
from vfpilco.trials.sensing import NATS, Sensing, _jointly, disagrees
from vfpilco.trials.sensing import choose_sensor as choose_any
from vfpilco.trials.settings import Settings

TASK = vfpilco.task("cartpole")
STEPS = Quantised((2e-3, 5e-3))


def choose_sensor(trials: list[Trial], machine: Machine, m_u: int) -> Sensing:
    """What is chosen after explorations whose inputs depended on no measurement."""
    return choose_any(trials, machine, m_u, open_loop=True)


def explored(sensor: Sensor) -> list[Trial]:
    """Two explorations of the cart-pole whose real sensor is this one."""
    plant = CartPole(SAMPLING_TIME, sensor)
    return [execute(TASK, plant, TASK.explorer(seed, 0), seed) for seed in (100, 101)]


@pytest.fixture(scope="module")
def noisy() -> list[Trial]:
    return explored(SENSOR)


@pytest.fixture(scope="module")
def stepped() -> list[Trial]:
    return explored(STEPS)


def declaring(sensor: Sensor) -> Machine:
    return dataclasses.replace(TASK.machine, sensor=sensor)


def gaussian(factor: float) -> GaussianNoise:
    return GaussianNoise(tuple(factor * std for std in SENSOR.std))


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.4])
def test_a_sensor_that_agrees_with_the_data_is_kept_as_the_object_it_is(noisy, factor):
    sensor = gaussian(factor)
    found = choose_sensor(noisy, declaring(sensor), m_u=1)
    assert found.sensor is sensor
    assert found.remarks == ()


@pytest.mark.parametrize("factor", [0.1, 0.2, 5.0, 10.0])
def test_a_noise_that_is_declared_much_too_small_or_too_large_is_corrected(noisy, factor):
    found = choose_sensor(noisy, declaring(gaussian(factor)), m_u=1)
    assert isinstance(found.sensor, GaussianNoise)
    np.testing.assert_allclose(found.sensor.std, SENSOR.std, rtol=0.5)
    assert [remark.split(",")[0] for remark in found.remarks] == ["Chosen: noise of p", "Chosen: noise of alpha"]
    assert ("more" if factor < 1 else "less") in found.remarks[0]


@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_steps_are_found_in_the_values(stepped, factor):
    declared = Quantised(tuple(factor * step for step in STEPS.step))
    found = choose_sensor(stepped, declaring(declared), m_u=1)
    assert isinstance(found.sensor, Quantised)
    np.testing.assert_allclose(found.sensor.step, STEPS.step, rtol=1e-6)
    assert choose_sensor(stepped, declaring(STEPS), m_u=1).sensor is STEPS


def test_only_the_position_that_disagrees_gets_another_sensor(stepped):
    declared = Quantised((2e-3, 5e-4))
    found = choose_sensor(stepped, declaring(declared), m_u=1)
    assert isinstance(found.sensor, Quantised)
    assert found.sensor.step[0] == 2e-3
    assert found.sensor.step[1] == pytest.approx(5e-3)
    assert len(found.remarks) == 1


def test_noise_and_steps_make_a_sensor_per_position(noisy):
    found = choose_sensor(noisy, declaring(Quantised((1e-3 * 12**0.5, 5e-4))), m_u=1)
    assert isinstance(found.sensor, PerPosition)
    assert found.sensor.sensors[0] == Quantised((1e-3 * 12**0.5,))
    assert isinstance(found.sensor.sensors[1], GaussianNoise)


def test_an_encoder_that_hardly_leaves_a_step_is_kept():
    """Its errors are far smaller than those of rounding while it stands."""
    t = np.arange(101)
    slow = 0.01 * np.round(0.02 * np.sin(2 * np.pi * t / 100) / 0.01)
    trial = Trial(np.stack([slow, np.sin(t / 9)], 1), np.cos(t[:-1, None] / 20), SAMPLING_TIME)
    sensor = Quantised((0.01, 0.0))
    assert choose_sensor([trial], declaring(sensor), m_u=1).sensor is sensor


def test_the_timing_jitter_that_is_declared_is_kept(noisy):
    found = choose_sensor(noisy, declaring(TimingJitter(gaussian(0.1), 0.02)), m_u=1)
    assert isinstance(found.sensor, TimingJitter)
    assert found.sensor.std == 0.02
    np.testing.assert_allclose(std_at_rest(found.sensor, 2), SENSOR.std, rtol=0.5)


@dataclass(frozen=True)
class Own(Sensor):
    """A sensor of the user's own."""

    std: float

    def measure(self, memory, q, noise):
        return q + noise, memory

    def error_std(self, q):
        return np.full(2, self.std)


def test_a_sensor_of_the_users_own_is_kept_with_a_note(noisy):
    found = choose_sensor(noisy, declaring(Own(1e-4)), m_u=1)
    assert found.sensor == Own(1e-4)
    assert found.remarks[0].startswith("CHECK THE MEASUREMENTS: noise of p")
    assert "0.0001" in found.remarks[0]
    assert choose_sensor(noisy, declaring(Own(1.5e-3)), m_u=1).remarks == ()


def test_a_machine_without_a_declared_sensor_gets_the_one_that_is_found(noisy, stepped):
    m = TASK.machine
    machine = Machine(plant=None, positions=m.positions, inputs=m.inputs, sampling_time=m.sampling_time)
    assert machine.sensor == Undeclared()
    found = choose_sensor(noisy, machine, m_u=1)
    np.testing.assert_allclose(std_at_rest(found.sensor, 2), SENSOR.std, rtol=0.5)
    assert "does not declare" in found.remarks[0]
    steps = choose_sensor(stepped, machine, m_u=1).sensor
    assert isinstance(steps, Quantised)
    np.testing.assert_allclose(steps.step, STEPS.step)


def test_without_motion_the_declared_sensor_is_kept():
    still = Trial(np.zeros((91, 2)), np.zeros((90, 1)), SAMPLING_TIME)
    assert choose_sensor([still], TASK.machine, m_u=1).sensor is SENSOR
    found = choose_sensor([still], declaring(Undeclared()), m_u=1)
    assert std_at_rest(found.sensor, 2) == (0.0, 0.0)
    assert found.remarks[0].startswith("CHECK THE MEASUREMENTS: the noise of p and alpha is unknown")


def test_a_disagreement_must_be_large_and_clear():
    declared = Declared(1.0)
    assert not disagrees(Scatter(declared, noise=0.9 * FACTOR, gain=1e9), declared)
    assert not disagrees(Scatter(declared, noise=1.1 * FACTOR, gain=0.9 * NATS), declared)
    assert disagrees(Scatter(declared, noise=1.1 * FACTOR, gain=1.1 * NATS), declared)
    assert disagrees(Scatter(declared, noise=0.9 / FACTOR, gain=1.1 * NATS), declared)


def test_evidence_of_positions_that_err_in_the_same_direction_is_added():
    def scatter(noise: float, gain: float) -> Scatter:
        return Scatter(Declared(1.0), noise, gain)

    found = [scatter(9.0, 5.0), scatter(8.0, 4.0), scatter(0.1, 7.0), scatter(9.0, 0.5), scatter(2.0, 9.0), None]
    assert [s and s.gain for s in _jointly(found)] == [9.0, 9.0, 7.0, 0.5, 9.0, None]


def test_steps_that_are_found_replace_those_declared():
    rounding = 12**-0.5
    assert Declared(rounding, 1.0).corrected(1.0) == Declared(rounding, 1.0)
    assert Declared(rounding, 1.0).corrected(2.0) == Declared(rounding, 1.0)
    assert Declared(rounding, 1.0).corrected(0.0) == Declared(rounding, 1.0)
    assert Declared(rounding, 1.0).corrected(5.0) == Declared(5.0 / 12**0.5, 5.0)
    assert Declared(rounding, 1.0).corrected(0.2) == Declared(0.2 / 12**0.5, 0.2)
    assert Declared(1.0).corrected(0.2) == Declared(1.0)  # noise of an encoder with finer steps
    assert Declared(1.0).corrected(20.0) == Declared(20.0 / 12**0.5, 20.0)


def test_few_values_are_no_evidence_of_coarser_steps():
    values = 0.01 * np.array([0, 2, 8, 2, 0, 2, 8, 10] * 12)
    trial = Trial(np.stack([values, values], 1), np.cos(np.arange(95)[:, None] / 20), SAMPLING_TIME)
    declared = Declared(0.002 / 12**0.5, 0.002)
    for found in scatters([trial], TASK.machine, [declared] * 2, (0, 1)):
        assert found is not None
        assert found.declared == declared


def test_a_controller_that_answers_the_errors_of_the_measurements_does_not_hide_them():
    task = vfpilco.task("ur5")
    trial = execute(task, task.machine.plant(), task.explorer(100, 0), 100)
    assert choose_any([trial], task.machine, m_u=1).sensor is task.machine.sensor
    assert choose_any([trial], task.machine, m_u=1, open_loop=True).sensor is not task.machine.sensor


def knowledge(trials: list[Trial], task: vfpilco.Task, **settings) -> Knowledge:
    result = RunResult(Plan(task, Settings().replace(**settings)))
    result.trials = trials
    result.rows = [TrialResult(cost=1.0, success=False, kind="explore", file="", experience_s=0.0) for _ in trials]
    return Knowledge(result, open_loop=True)


def test_the_gps_and_the_particles_use_the_sensor_that_is_found(noisy):
    declared, task = gaussian(0.1), dataclasses.replace(TASK, machine=declaring(gaussian(0.1)))
    known = knowledge(noisy, task)
    np.testing.assert_allclose(known.dynamics.sensor.error_std(np.zeros((3, 2))), SENSOR.std, rtol=0.5)
    np.testing.assert_allclose(known.dynamics.least_noise(), np.sqrt(6) * np.array(SENSOR.std), rtol=0.5)
    assert any(remark.startswith("Chosen: noise of p") for remark in known.remarks)
    by_hand = knowledge(noisy, task, sensor=declared)
    assert by_hand.dynamics.sensor is declared
    assert not any("noise of" in remark for remark in by_hand.remarks)
    assert knowledge(noisy, task, state=Filtered()).dynamics.sensor is task.machine.sensor


def test_a_machine_whose_sensor_is_right_is_the_object_it_was(noisy):
    known = knowledge(noisy, TASK)
    assert known.machine is TASK.machine
    assert known.dynamics.sensor is TASK.machine.sensor
