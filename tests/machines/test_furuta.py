from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

import vfpilco
from vfpilco.common.errors import UserError
from vfpilco.common.random import JaxRandom, NumpyRandom
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.machines.furuta.task import ENCODERS, SAMPLING_TIME, cost, held_upright
from vfpilco.machines.furuta.task import task as furuta_task
from vfpilco.model.fit import fit
from vfpilco.model.kernels import SE, GPInputs, Linear
from vfpilco.model.posterior import predict
from vfpilco.policy.preparation import policy_inputs
from vfpilco.state.filtered import Filtered
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import Quantised, TimingJitter, std_at_rest
from vfpilco.trials.choosing import can_jitter
from vfpilco.trials.execute import execute
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

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


def test_energy_changes_by_the_work_of_motor_and_friction():
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
def test_a_hand_made_controller_holds_it_upright_with_all_faults(seed):
    plant = vfpilco.task("furuta").machine.plant()
    assert plant.coulomb > 0
    assert plant.latency > 0
    assert plant.jitter > 0
    gains = feedback(plant.latency)
    plant.reset(seed)
    plant.state = np.array([0.1, np.pi - 0.05, 0.0, 0.0])
    q = last = plant.first_measurement()
    u, path = 0.0, [plant.true_positions]
    for _ in range(90):
        velocity = (q - last) / SAMPLING_TIME
        u = float(np.clip(-gains @ [q[0], q[1] - np.pi, *velocity, u], -10, 10))
        last = q
        q = plant.step(np.array([u]))
        path.append(plant.true_positions)
    assert held_upright(np.array(path))


def test_upright_a_deviation_grows_by_half_in_a_sample():
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


def test_encoders_round_to_steps_and_particles_have_errors_of_the_same_size():
    q, random = np.random.default_rng(0).uniform(-4, 4, size=(2000, 2)), NumpyRandom(np.random.default_rng(0))
    errors = np.array([ENCODERS.observe(ENCODERS.begin(row), row, random)[0] for row in q]) - q
    step = 2 * np.pi / 4096
    counts = (q + errors) / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-8)
    drawn = np.asarray(ENCODERS.noise(JaxRandom(jax.random.key(0), "float64"), (2000, 2)))
    for found in (errors, drawn):
        assert np.abs(found).max() <= step / 2 + 1e-12
        np.testing.assert_allclose(found.std(0), std_at_rest(ENCODERS, 2), rtol=0.05)


def test_the_cost_is_the_papers():
    for arm, pendulum in [(0.0, np.pi), (0.5, -3.0), (2.5, 1.0), (-3.0, 0.0)]:
        border = 1 / (1 + np.exp(-10 * (-0.75 * np.pi - arm))) + 1 / (1 + np.exp(-10 * (arm - 0.75 * np.pi)))
        expected = 1 - np.exp(-((arm / 2) ** 2) - ((abs(pendulum) - np.pi) / 2) ** 2) + border
        assert float(cost(np.array([arm, pendulum]))) == pytest.approx(expected, rel=1e-5, abs=1e-6)


# -- prior knowledge of the physics ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task():
    return vfpilco.task("furuta")


def explored(task, seed: int):
    return execute(task, task.machine.plant(), task.explorer(seed, 0), seed)


def with_features(task, features):
    return dataclasses.replace(task, machine=dataclasses.replace(task.machine, features=features))


@pytest.mark.parametrize("chosen", [VelocityFree(), Filtered()], ids=repr)
def test_features_are_for_kernels_that_select_them(task, chosen):
    settings = Settings().replace(**task.settings, state=chosen)
    dynamics, plain = (Plan(t, settings).dynamics for t in (task, with_features(task, None)))
    trial, state = explored(task, 0), dynamics.state
    x, without = dynamics.training_set(trial).x, plain.training_set(trial).x
    np.testing.assert_array_equal(x[:, :-9], without)
    _, states = state.states(trial)
    rates = states.v if isinstance(chosen, Filtered) else states.q[:, 0] - states.q[:, 1]
    q = state.positions(states)
    np.testing.assert_allclose(x[:, -9:][:, 4], np.sin(q[: len(without), 1]))
    np.testing.assert_allclose(x[:, -9:][:, 1], rates[: len(without), 0])
    kinds = tuple(state.input_kinds())
    assert kinds[-9:] == ("feature",) * 9
    ones = np.ones(len(kinds))
    log_lengthscales = SE().hyperprior(GPInputs(kinds, ones, ones)).centre["log_lengthscales"]
    assert np.all(np.isinf(log_lengthscales[-9:]))
    assert np.all(np.isfinite(log_lengthscales[:-9]))
    assert policy_inputs(state, task, [trial]).scale == policy_inputs(plain.state, task, [trial]).scale


def test_a_semi_parametric_kernel_predicts_better_from_little_data_and_is_differentiable(task):
    dynamics = Plan(task, Settings().replace(**task.settings)).dynamics
    state, kinds = dynamics.state, tuple(dynamics.state.input_kinds())
    known, unseen = (explored(task, seed) for seed in (1, 2))
    data, test = dynamics.training_set(known), dynamics.training_set(unseen)
    errors = []
    for kernel in (SE(), SE() + Linear(on=("features",))):
        model = fit(data, kernel=kernel, kinds=kinds)
        errors.append(np.sqrt(np.mean((test.y - test.prior - model.predict(test.x)[0]) ** 2, axis=0)))
    assert np.all(errors[1] < 0.9 * errors[0])
    x = jax.tree.map(lambda column: jnp.asarray(column[:4]), state.states(unseen)[1])
    posterior = model.posterior.cast("float64")

    @jax.jit
    def mean(u):
        return predict(posterior, state.gp_input(x, u))[0][:, 0].sum()

    u, h = jnp.ones((4, 1)), 1e-5
    gradient = jax.jit(jax.grad(mean))(u)
    assert np.all(np.abs(gradient) > 1e-5)
    np.testing.assert_allclose(gradient.sum(), (mean(u + h) - mean(u - h)) / (2 * h), rtol=1e-5)


def test_features_of_another_shape_are_rejected(task):
    wrong = with_features(task, dataclasses.replace(task.machine.features, count=4))
    with pytest.raises(UserError, match="features"):
        wrong.check()


def test_the_timing_jitter_of_the_plant_is_not_declared_but_can_be_found(task):
    assert task.machine.plant().jitter > 0
    assert task.machine.plant().sensor == task.machine.sensor == ENCODERS  # the plant itself is sampled early or late
    assert can_jitter(Plan(task, Settings()).dynamics)
    declared = Settings().replace(sensor=TimingJitter(ENCODERS, 0.03))
    assert not can_jitter(Plan(task, declared).dynamics)
    assert furuta_task(jitter=0.0).machine.plant().jitter == 0


@pytest.mark.long
def test_it_is_swung_up_and_held():
    assert any(vfpilco.learn(vfpilco.task("furuta"), seed=100, trials=4).successes)
