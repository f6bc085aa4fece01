from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.tasks.sensors import GaussianNoise

TS = 1 / 30
EXACT = GaussianNoise((0.0, 0.0))
CART, POLE, LENGTH, FRICTION, GRAVITY = 0.5, 0.5, 0.5, 0.1, 9.81

TWIN = f"""
<mujoco>
  <option timestep="{TS / 100!r}" integrator="RK4" gravity="0 0 -{GRAVITY}"/>
  <worldbody>
    <body>
      <joint name="rail" type="slide" axis="1 0 0" damping="{FRICTION}"/>
      <inertial pos="0 0 0" mass="{CART}" diaginertia="1e-3 1e-3 1e-3"/>
      <body>
        <joint name="hinge" type="hinge" axis="0 -1 0"/>
        <inertial pos="0 0 -{LENGTH / 2}" mass="{POLE}"
                  diaginertia="{POLE * LENGTH**2 / 12!r} {POLE * LENGTH**2 / 12!r} 1e-5"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rail"/></actuator>
</mujoco>
"""


def forces(kind: str) -> np.ndarray:
    t = np.arange(90) * TS
    if kind == "constant":
        return np.full(90, 1.5)
    if kind == "none":
        return np.zeros(90)
    return 8 * np.sin(2 * np.pi * 0.9 * t) + 2 * np.cos(2 * np.pi * 2.3 * t)


def drive(plant: CartPole, u: np.ndarray, seed: int = 0, state: np.ndarray | None = None) -> np.ndarray:
    """True positions under the forces `u`, the start included."""
    plant.reset(seed)
    if state is not None:
        plant.state = state.copy()
    q = [plant.true_positions]
    for force in u:
        plant.step(np.array([force]))
        q.append(plant.true_positions)
    return np.array(q)


def energy(state: np.ndarray) -> np.ndarray:
    """Kinetic and potential energy of a cart and a uniform rod that hangs from it, from the motion of the masses."""
    _, alpha, dp, dalpha = state
    vx = dp + LENGTH / 2 * np.cos(alpha) * dalpha
    vz = LENGTH / 2 * np.sin(alpha) * dalpha
    height = -LENGTH / 2 * np.cos(alpha)
    spin = POLE * LENGTH**2 / 12 * dalpha**2
    return 0.5 * (CART * dp**2 + POLE * (vx**2 + vz**2) + spin) + POLE * GRAVITY * height


def test_energy_balance_over_a_driven_trajectory():
    per_sample = 20
    plant = CartPole(TS / per_sample, EXACT, substeps=1)
    plant.reset(0)
    work, worst = 0.0, 0.0
    start = energy(plant.state)
    for force in forces("varying"):
        speed = [plant.state[2]]
        for _ in range(per_sample):
            plant.step(np.array([force]))
            speed.append(plant.state[2])
        speed = np.array(speed)
        work += simpson((force - FRICTION * speed) * speed, dx=TS / per_sample)
        worst = max(worst, abs(energy(plant.state) - start - work))
    assert energy(plant.state) - start > 0.1  # the force did work that could have been lost
    assert worst < 1e-6


def test_energy_and_momentum_rates_at_random_states():
    rng = np.random.default_rng(1)
    plant = CartPole(TS, EXACT)
    h = 1e-5
    for _ in range(50):
        state, u = rng.normal(size=4) * [1, 3, 2, 6], rng.uniform(-10, 10, size=1)
        rate = plant.derivative(state, u)
        de = (energy(state + h * rate) - energy(state - h * rate)) / (2 * h)
        outer = u[0] - FRICTION * state[2]
        assert de == pytest.approx(outer * state[2], rel=1e-6, abs=1e-6)
        # Horizontal momentum (m_c + m_p) p' + m_p l/2 α' cos α changes by the outer force alone.
        _, alpha, _, dalpha = state
        dm = (CART + POLE) * rate[2] + POLE * LENGTH / 2 * (rate[3] * np.cos(alpha) - dalpha**2 * np.sin(alpha))
        assert dm == pytest.approx(outer, abs=1e-10)


@pytest.mark.parametrize("kind", ["constant", "varying", "none"])
def test_agrees_with_a_mujoco_twin(kind):
    u = forces(kind)
    start = np.array([0.0, 2.5, 0.0, 0.0]) if kind == "none" else np.zeros(4)
    model = mujoco.MjModel.from_xml_string(TWIN)
    data = mujoco.MjData(model)
    data.qpos[:] = start[:2]
    twin = [data.qpos.copy()]
    for force in u:
        data.ctrl[0] = force
        mujoco.mj_step(model, data, 100)
        twin.append(data.qpos.copy())
    ours = drive(CartPole(TS, EXACT), u, state=start)
    assert np.ptp(ours[:, 1]) > 0.3
    np.testing.assert_allclose(ours, np.array(twin), atol=1e-5)


def test_integrator_agrees_with_scipy_at_tight_tolerance():
    plant = CartPole(TS, EXACT)
    u = forces("varying")
    state, expected = np.zeros(4), [np.zeros(2)]
    for force in u:

        def rhs(t, x, held=force):
            return plant.derivative(x, np.array([held]))

        state = solve_ivp(rhs, (0, TS), state, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        expected.append(state[:2])
    np.testing.assert_allclose(drive(plant, u), expected, atol=2e-6)


def test_force_is_held_during_a_sample():
    plant, twice_as_often = CartPole(TS, EXACT), CartPole(TS / 2, EXACT, substeps=10)
    u = forces("varying")[:30]
    np.testing.assert_allclose(drive(plant, u), drive(twice_as_often, np.repeat(u, 2))[::2], atol=1e-12)
    not_held = np.stack([u, 0 * u], axis=1).ravel()
    assert np.abs(drive(plant, u) - drive(twice_as_often, not_held)[::2]).max() > 1e-2


def test_starts_at_rest_at_the_origin(task):
    plant = task.machine.plant()
    plant.reset(3)
    plant.step(np.array([5.0]))
    plant.reset(3)
    np.testing.assert_array_equal(plant.state, np.zeros(4))
    np.testing.assert_array_equal(plant.true_positions, np.zeros(2))


def test_hanging_at_rest_stays_at_rest():
    np.testing.assert_array_equal(drive(CartPole(TS, EXACT), np.zeros(30)), np.zeros((31, 2)))


def test_measurements_depend_on_the_seed_alone(task):
    def measured(seed: int) -> np.ndarray:
        plant = task.machine.plant()
        return np.array([plant.reset(seed), *(plant.step(np.array([u])) for u in forces("varying")[:20])])

    np.testing.assert_array_equal(measured(7), measured(7))
    assert np.all(measured(7) != measured(8))


def test_sensor_noise_has_the_stated_standard_deviation_and_does_not_move_the_plant(task):
    plant = task.machine.plant()
    errors = np.array([plant.reset(seed) - plant.true_positions for seed in range(3000)])
    np.testing.assert_allclose(errors.std(0), [1e-3, 2e-3], rtol=0.06)
    np.testing.assert_allclose(errors.mean(0), 0, atol=2e-4)
    u = forces("varying")[:20]
    np.testing.assert_array_equal(drive(task.machine.plant(), u, seed=1), drive(task.machine.plant(), u, seed=2))


def test_the_task_is_the_papers():
    task = vfpilco.task("cartpole")
    assert task.machine.sampling_time == pytest.approx(1 / 30)
    assert task.horizon == 90
    np.testing.assert_array_equal(task.machine.limits, [10.0])
    assert task.machine.angles == (False, True)
    assert task.start.std == (1e-2, 1e-2)  # variance 1e-4
