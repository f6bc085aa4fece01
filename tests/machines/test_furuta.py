from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

import vfpilco
from vfpilco.model import gp
from vfpilco import machines as tasks
from vfpilco.common.errors import UserError
from vfpilco.trials.execute import execute
from vfpilco.model.kernels import Form
from vfpilco.trials.methods import represent
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.policy import make
from vfpilco.tasks.sensors import Quantised
from vfpilco.machines.furuta.task import ENCODERS, SAMPLING_TIME, cost, held_upright
from vfpilco.machines.furuta.task import task as furuta_task

EXACT = Quantised((0.0, 0.0))
IDEAL = {"coulomb": 0.0, "latency": 0.0, "jitter": 0.0}
TWIN = f"""
<mujoco>
  <option timestep="0.0001" gravity="0 0 -9.81" integrator="RK4"><flag contact="disable"/></option>
  <worldbody><body>
    <joint name="arm" axis="0 0 1" damping="{{arm}}"/>
    <inertial pos="{Furuta.arm_length / 2} 0 0" mass="{Furuta.arm_mass}"
      diaginertia="1e-9 {Furuta.arm_mass * Furuta.arm_length**2 / 12} {Furuta.arm_mass * Furuta.arm_length**2 / 12}"/>
    <body pos="{Furuta.arm_length} 0 0">
      <joint name="pendulum" axis="1 0 0" damping="{Furuta.pendulum_damping}"/>
      <inertial pos="0 0 {-Furuta.pendulum_length / 2}" mass="{Furuta.pendulum_mass}"
        diaginertia="{Furuta.pendulum_mass * Furuta.pendulum_length**2 / 12}
          {Furuta.pendulum_mass * Furuta.pendulum_length**2 / 12} 1e-9"/>
    </body>
  </body></worldbody>
  <actuator><motor joint="arm"/></actuator>
</mujoco>"""


def energy(state: np.ndarray) -> float:
    """Kinetic and potential energy, summed over thin slices of both rods."""
    _, alpha, dtheta, dalpha = state
    n = 4000
    slices = (np.arange(n) + 0.5) / n
    arm = 0.5 * np.mean((slices * Furuta.arm_length * dtheta) ** 2) * Furuta.arm_mass
    s = slices * Furuta.pendulum_length
    radial = -s * np.sin(alpha) * dtheta
    tangential = Furuta.arm_length * dtheta + s * np.cos(alpha) * dalpha
    vertical = s * np.sin(alpha) * dalpha
    moving = 0.5 * np.mean(radial**2 + tangential**2 + vertical**2) * Furuta.pendulum_mass
    return arm + moving - Furuta.pendulum_mass * Furuta.gravity * Furuta.pendulum_length / 2 * np.cos(alpha)


def test_energy_changes_by_what_motor_and_friction_do():
    plant = Furuta(SAMPLING_TIME, EXACT, coulomb=1e-3, latency=0.0, jitter=0.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        state = rng.normal(size=4) * [3, 3, 10, 10]
        volts = rng.uniform(-10, 10)
        rate = plant.derivative(state, np.array([volts]))
        h = 1e-6
        change = (energy(state + h * rate) - energy(state - h * rate)) / (2 * h)
        _, _, dtheta, dalpha = state
        torque = plant.motor_constant * (volts - plant.motor_constant * dtheta) / plant.resistance
        lost = plant.arm_damping * dtheta**2 + plant.pendulum_damping * dalpha**2
        lost += plant.coulomb * np.tanh(dtheta / 0.02) * dtheta
        assert change == pytest.approx(torque * dtheta - lost, rel=1e-5, abs=1e-7)


def test_agrees_with_a_mujoco_twin():
    plant = Furuta(SAMPLING_TIME, EXACT, **IDEAL)
    back_emf = plant.motor_constant**2 / plant.resistance
    model = mujoco.MjModel.from_xml_string(TWIN.format(arm=plant.arm_damping + back_emf))
    data = mujoco.MjData(model)
    plant.reset(0)
    plant.state = np.array([0.3, 2.0, 1.0, -2.0])
    data.qpos[:], data.qvel[:] = plant.state[:2], plant.state[2:]
    for k in range(30):
        volts = 6 * np.sin(0.7 * k)
        plant.step(np.array([volts]))
        data.ctrl[:] = plant.motor_constant * volts / plant.resistance
        mujoco.mj_step(model, data, round(SAMPLING_TIME / 1e-4))
        data.time = 0.0
    assert np.abs(plant.state[:2] - [0.3, 2.0]).max() > 1
    np.testing.assert_allclose(plant.state[:2], data.qpos, atol=0.05)


def feedback(latency: float) -> np.ndarray:
    """Gains of a linear-quadratic regulator around upright, for the state and the input before."""
    plant, upright, h = Furuta(SAMPLING_TIME, EXACT, **IDEAL), np.array([0, np.pi, 0, 0.0]), 1e-6
    zero = np.zeros(1)
    a = np.array(
        [
            (plant.derivative(upright + h * e, zero) - plant.derivative(upright - h * e, zero)) / (2 * h)
            for e in np.eye(4)
        ]
    ).T
    b = (plant.derivative(upright, zero + h) - plant.derivative(upright, zero - h)) / (2 * h)
    both = np.block([[a, b[:, None]], [np.zeros((1, 5))]])
    early, rest = expm(both * latency), expm(both * (SAMPLING_TIME - latency))
    f = np.block([[rest[:4, :4] @ early[:4, :4], rest[:4, :4] @ early[:4, 4:]], [np.zeros((1, 5))]])
    g = np.vstack([rest[:4, 4:], [[1.0]]])
    p = solve_discrete_are(f, g, np.diag([5, 10, 0.05, 0.1, 0]), np.array([[0.05]]))
    return np.linalg.solve(0.05 + g.T @ p @ g, g.T @ p @ f)[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_hand_made_controller_holds_it_upright_with_all_faults_on(seed):
    plant = tasks.load("furuta").plant()
    assert plant.coulomb > 0
    assert plant.latency > 0
    assert plant.jitter > 0
    gains = feedback(plant.latency)
    plant.reset(seed)
    plant.state = np.array([0.1, np.pi - 0.05, 0.0, 0.0])
    q = last = ENCODERS.measure(plant.rng, plant.true_positions)
    u, path = 0.0, [plant.true_positions]
    for _ in range(90):
        velocity = (q - last) / SAMPLING_TIME
        u = float(np.clip(-gains @ [q[0], q[1] - np.pi, *velocity, u], -10, 10))
        last = q
        q = plant.step(np.array([u]))
        path.append(plant.true_positions)
    assert held_upright(np.array(path))


def test_upright_the_pendulum_grows_about_one_and_a_half_times_a_sample():
    plant = Furuta(SAMPLING_TIME, EXACT, **IDEAL)
    plant.reset(0)
    plant.state = np.array([0, np.pi + 1e-4, 0, 12.5e-4])
    grown = []
    for _ in range(4):
        plant.step(np.zeros(1))
        grown.append(plant.state[1] - np.pi)
    assert np.diff(np.log(grown)) == pytest.approx(np.log(1.5), abs=0.05)


def test_each_fault_changes_the_motion_and_can_be_switched_off():
    def end(**faults: float) -> np.ndarray:
        plant = Furuta(SAMPLING_TIME, EXACT, **{**IDEAL, **faults})
        plant.reset(1)
        for k in range(30):
            plant.step(np.array([5 * np.sin(0.5 * k)]))
        return plant.state

    ideal = end()
    np.testing.assert_array_equal(ideal, end())
    for fault in ({"coulomb": 1e-3}, {"lag": 5e-3}, {"latency": 5e-3}, {"jitter": 1e-3}):
        assert np.abs(end(**fault) - ideal).max() > 1e-3, fault
    np.testing.assert_allclose(end(lag=1e-6), ideal, atol=1e-3)


def test_an_input_takes_effect_after_its_latency():
    early, late = (Furuta(SAMPLING_TIME, EXACT, **{**IDEAL, "latency": latency}) for latency in (0.0, SAMPLING_TIME))
    for plant in (early, late):
        plant.reset(0)
    first = early.step(np.array([5.0]))
    np.testing.assert_array_equal(late.step(np.array([5.0])), [0, 0])
    np.testing.assert_allclose(late.step(np.array([0.0])), first, atol=1e-9)


def test_the_voltage_saturates():
    plants = [Furuta(SAMPLING_TIME, EXACT, **IDEAL) for _ in range(2)]
    ends = []
    for plant, volts in zip(plants, (10.0, 50.0), strict=True):
        plant.reset(0)
        ends.append(plant.step(np.array([volts])))
    np.testing.assert_array_equal(*ends)


def test_encoders_count_in_steps_and_particles_err_as_much():
    q = np.random.default_rng(0).uniform(-4, 4, size=(2000, 2))
    errors = np.array([ENCODERS.measure(np.random.default_rng(0), row) for row in q]) - q
    step = 2 * np.pi / 4096
    counts = (q + errors) / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-8)
    drawn = np.asarray(ENCODERS.fictitious(jax.random.key(0), (2000, 2), "float64"))
    for found in (errors, drawn):
        assert np.abs(found).max() <= step / 2 + 1e-12
        np.testing.assert_allclose(found.std(0), ENCODERS.spread(), rtol=0.05)


def test_the_cost_is_the_papers():
    for arm, pendulum in [(0.0, np.pi), (0.5, -3.0), (2.5, 1.0), (-3.0, 0.0)]:
        border = 1 / (1 + np.exp(-10 * (-0.75 * np.pi - arm))) + 1 / (1 + np.exp(-10 * (arm - 0.75 * np.pi)))
        expected = 1 - np.exp(-((arm / 2) ** 2) - ((abs(pendulum) - np.pi) / 2) ** 2) + border
        assert float(cost(np.array([arm, pendulum]))) == pytest.approx(expected, rel=1e-5, abs=1e-6)


# -- what is known of the physics --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task():
    return tasks.load("furuta")


@pytest.mark.parametrize("method", ["vf", "pms"])
def test_features_are_for_the_gps_alone_and_only_where_they_are_asked_for(task, method):
    settings = dataclasses.replace(task.settings, method=method)
    how, plain = (represent(t, settings) for t in (task, dataclasses.replace(task, features=None)))
    trial = execute(task, task.plant(), task.exploring(0, 0), 0)
    with_features, without = how.training_set(trial).x, plain.training_set(trial).x
    np.testing.assert_array_equal(with_features[:, :-9], without)
    _, state = how.states(trial)
    rates = state.v if method == "pms" else state.q[:, 0] - state.q[:, 1]
    q = how.positions(state)
    np.testing.assert_allclose(with_features[:, -9:][:, 4], np.sin(q[: len(without), 1]))
    np.testing.assert_allclose(with_features[:, -9:][:, 1], rates[: len(without), 0])
    kinds = tuple(how.input_kinds())
    assert kinds[-9:] == ("feature",) * 9
    kernel = Form("se", kinds).start(np.ones(len(kinds))).centre
    assert np.all(np.isinf(kernel.log_lengthscales[-9:]))
    assert np.all(np.isfinite(kernel.log_lengthscales[:-9]))
    assert make("rbf", 5, how, task, [trial]).scale == make("rbf", 5, plain, task, [trial]).scale


def test_a_semi_parametric_kernel_predicts_better_from_little_data_and_is_differentiable(task):
    how = represent(task, task.settings)
    kinds = tuple(how.input_kinds())
    known, unseen = (execute(task, task.plant(), task.exploring(seed, 0), seed) for seed in (1, 2))
    data, test = how.training_set(known), how.training_set(unseen)
    errors = []
    for expression in ("se", "se + linear(features)"):
        model = gp.fit(data, len(data.x), None, form=Form(expression, kinds))
        errors.append(np.sqrt(np.mean((test.y - test.prior - model.predict(test.x)[0]) ** 2, axis=0)))
    assert np.all(errors[1] < 0.9 * errors[0])
    state = jax.tree.map(lambda column: jnp.asarray(column[:4]), how.states(unseen)[1])
    posterior = model.posterior.cast("float64")

    def mean(u):
        return gp.posteriors.predict(posterior, how.gp_input(state, u))[0][:, 0].sum()

    u, h = jnp.ones((4, 1)), 1e-5
    slope = jax.grad(mean)(u)
    assert np.all(np.abs(slope) > 1e-5)
    np.testing.assert_allclose(slope.sum(), (mean(u + h) - mean(u - h)) / (2 * h), rtol=1e-5)


def test_features_of_another_shape_are_refused(task):
    wrong = dataclasses.replace(task, features=dataclasses.replace(task.features, count=4))
    with pytest.raises(UserError, match="features"):
        wrong.check()


def test_the_jitter_that_is_learned_with_is_that_of_the_plant():
    assert tasks.load("furuta").settings.jitter == tasks.load("furuta").plant().jitter > 0
    still = furuta_task(jitter=0.0)
    assert still.settings.jitter == still.plant().jitter == 0


@pytest.mark.long
def test_it_is_swung_up_and_held():
    assert any(vfpilco.learn(tasks.load("furuta"), seed=100, trials=4).successes)
