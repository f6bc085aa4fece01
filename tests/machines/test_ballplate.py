from __future__ import annotations

import dataclasses
import shutil
from functools import partial

import jax
import mujoco
import numpy as np
import pytest

import vfpilco
from vfpilco.common.errors import UserError
from vfpilco.common.random import JaxRandom
from vfpilco.machines.ballplate.plant import BallPlate
from vfpilco.machines.ballplate.task import CAMERA, LIMIT, SAMPLING_TIME, cost, final_distance, held_in_the_middle
from vfpilco.model.fit import fit
from vfpilco.model.kernels import SE, Linear
from vfpilco.policy.preparation import policy_inputs
from vfpilco.policy.rbf import RBF, LinearRBF
from vfpilco.report.picture import draw_run
from vfpilco.rollout.particles import Simulator
from vfpilco.state.base import Signals, full_change
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder
from vfpilco.studies.alternatives.by_hand import PlateRegulator
from vfpilco.tasks.machine import Command
from vfpilco.tasks.sensors import Quantised
from vfpilco.trials.execute import execute, trimmed
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

EXACT = Quantised((0.0,) * 4)
QUICK = {"particles": 20, "basis_functions": 20, "steps": 4, "shards": 1}
TWIN = f"""
<mujoco>
  <option timestep="0.0002" gravity="0 0 -9.81" cone="elliptic" impratio="20"/>
  <default><geom friction="1 0 0" condim="3" solref="0.001 1"/></default>
  <worldbody>
    <body>
      <joint axis="0 1 0"/>
      <joint axis="-1 0 0"/>
      <geom type="box" size="0.3 0.3 0.01" pos="0 0 -0.01" mass="10"/>
    </body>
    <body name="ball">
      <freejoint/>
      <geom type="sphere" size="{BallPlate.radius}" mass="0.03"/>
    </body>
  </worldbody>
</mujoco>"""


@pytest.fixture(scope="module")
def task():
    return vfpilco.task("ballplate")


def explored(task, i: int):
    """The i-th exploration with seed 0."""
    return execute(task, task.machine.plant(), task.explorer(0, i), i)


def plan(task, **changes) -> Plan:
    return Plan(task, Settings().replace(**task.settings, **changes))


def regulator() -> PlateRegulator:
    """A controller made by hand."""
    return PlateRegulator(vfpilco.task("ballplate"))


def outwards(q: np.ndarray) -> np.ndarray:
    """Always tilts to where x is larger."""
    return np.array([LIMIT, 0.0])


# -- the plant ---------------------------------------------------------------------------------------------------


def test_energy_is_conserved_on_a_plate_at_rest_and_lost_to_friction():
    # Rolling and sliding energy of a solid ball, 7/10 m v², and its height on a tilted plane.
    for friction in (0.0, 0.002):
        plant = BallPlate(SAMPLING_TIME, EXACT, friction=friction, lag=0.0)
        plant.reset(0)
        tilt, way = np.array([0.02, -0.01]) / BallPlate.gear, []
        plant.state[:] = [-0.05, 0.04, *tilt, 0.0, 0.0, 0.0, 0.0]
        plant.command = tilt
        energy = []
        for _ in range(20):
            x, v = plant.state[:2], plant.state[4:6]
            energy.append(0.7 * v @ v - plant.gravity * x @ np.sin(BallPlate.gear * tilt))
            way.append(x.copy())
            plant.step(np.zeros(2))
        travelled = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
        assert travelled > 0.025
        assert energy[-1] - energy[0] == pytest.approx(-friction * plant.gravity * travelled, abs=1e-6)


def test_agrees_with_a_ball_in_rolling_contact_in_mujoco():
    plant = BallPlate(SAMPLING_TIME, EXACT, friction=0.0)
    plant.reset(0)
    plant.state[:2] = [0.08, -0.05]
    model = mujoco.MjModel.from_xml_string(TWIN)
    data = mujoco.MjData(model)
    data.qpos[2:5] = [0.08, -0.05, BallPlate.radius]
    command, motors, h = np.zeros(2), np.zeros(2), model.opt.timestep
    for k in range(30):
        u = LIMIT * np.array([-np.cos(0.25 * k), 0.8 * np.cos(0.2 * k)])
        plant.step(u)
        command = command + u
        for _ in range(round(SAMPLING_TIME / h)):
            rate = (command - motors) / plant.lag
            data.qpos[:2], data.qvel[:2] = BallPlate.gear * motors, BallPlate.gear * rate
            mujoco.mj_step(model, data)
            motors = motors + h * rate
    on_plate = data.xmat[1].reshape(3, 3).T @ data.qpos[2:5]
    moved = plant.state[:2] - [0.08, -0.05]
    assert np.all(np.abs(moved) > 0.03)
    assert on_plate[2] == pytest.approx(BallPlate.radius, abs=5e-4)
    np.testing.assert_allclose(on_plate[:2] - [0.08, -0.05], moved, rtol=0.05)


def test_motors_follow_their_commands_up_to_their_bounds_with_a_lag(task):
    plant = task.machine.plant()
    plant.reset(0)
    for _ in range(12):
        q = plant.step(np.array([LIMIT, -LIMIT / 2]))
    np.testing.assert_allclose(q[2:], [np.deg2rad(30), np.deg2rad(-24)])
    assert np.all(np.abs(plant.state[2:4]) < np.abs(q[2:]))
    np.testing.assert_allclose(plant.state[3], q[3], atol=0.5 * LIMIT)


def test_the_camera_rounds_to_millimetres_and_the_ball_stops_at_the_border(task):
    plant = task.machine.plant()
    starts = np.array([plant.reset(seed)[:2] for seed in range(50)])
    assert np.all(np.abs(starts) <= 0.12)
    assert np.all(np.ptp(starts, axis=0) > 0.18)
    np.testing.assert_allclose(1e3 * starts, np.round(1e3 * starts), atol=1e-9)
    for _ in range(90):
        q = plant.step(outwards(starts[-1]))
    assert q[0] == pytest.approx(0.15)
    assert plant.true_velocities[0] == 0


def test_a_hand_made_controller_brings_the_ball_to_the_middle(task):
    for seed in range(10):
        trial = execute(task, task.machine.plant(), regulator(), seed)
        assert held_in_the_middle(trial.evaluated)
        assert final_distance(trial.evaluated) < 3


# -- the task ----------------------------------------------------------------------------------------------------


def test_cost_is_the_papers():
    q = np.array([0.03, -0.06, 0.2, -0.1])
    expected = 1 - np.exp(-((0.03 / 0.15) ** 2) - (0.06 / 0.15) ** 2 - 0.2**2 - 0.1**2)
    assert float(cost(q)) == pytest.approx(expected, rel=1e-6)


def test_a_trial_ends_at_the_border_and_is_kept_up_to_there(task):
    trial = execute(task, task.machine.plant(), outwards, 0)
    assert 5 < trial.steps < 60
    assert len(trial.q) == len(trial.true) == trial.steps + 1
    assert np.abs(trial.q[:, :2]).max() < 0.15
    evaluated = task.evaluate(trial.evaluated)
    assert evaluated.measures["final distance"] == pytest.approx(150)
    assert not evaluated.success
    # It is charged as if the ball had stayed there: ending early does not pay.
    stayed = np.concatenate([trial.evaluated, np.repeat(trial.evaluated[-1:], 90 - trial.steps, axis=0)])
    assert evaluated.cost == pytest.approx(float(np.sum(np.asarray(cost(stayed)))), rel=1e-6)


def test_explorations_are_noisy_triangular_waves_that_differ(task):
    u = [task.exploring_inputs(3, i) for i in range(2)]
    assert np.abs(u[0] - u[1]).max() > 0.1 * LIMIT
    assert np.all(np.abs(u) <= LIMIT)
    still = dataclasses.replace(task.exploration, noise=0.0)
    wave = still.inputs(np.random.default_rng(0), 900, SAMPLING_TIME, task.machine.limits) / LIMIT
    assert np.abs(wave).max() == pytest.approx(0.5, rel=0.05)
    slopes = np.abs(np.diff(wave, axis=0))
    for column in slopes.T:  # the same slope everywhere except at the turns
        assert np.mean(np.isclose(column, column.max(), rtol=1e-6)) > 0.85
    assert np.abs(np.cumsum(wave, axis=0).mean(0)).max() < 0.1 * np.ptp(np.cumsum(wave, axis=0), axis=0).max()


# -- commanded positions -----------------------------------------------------------------------------------------


def test_commanded_positions_move_by_their_inputs_and_stop_at_their_bounds():
    commands = (Command(0, 1, -1.0, 1.0), Command(2, 0, -np.inf, np.inf))
    signals = Signals((False,) * 4, 2, commands=commands)
    assert signals.free == signals.predicted == [1, 3]
    q, u = np.array([[0.9, 0.1, 5.0, 0.3]]), np.array([[2.0, 0.4]])
    change = full_change(q, u, np.array([[0.01, -0.02]]), signals)
    np.testing.assert_allclose(change, [[0.1, 0.01, 2.0, -0.02]])


KALMAN = Filtered(Kalman(acceleration=1.0), Kalman(acceleration=1.0))


@pytest.mark.parametrize("state", [VelocityFree(), KALMAN, FullState()], ids=repr)
def test_particles_command_their_motors_as_the_plant_does(task, state):
    planned = plan(task, state=state)
    dynamics, trials = planned.dynamics, [explored(task, i) for i in range(2)]
    data = [dynamics.training_set(trial) for trial in trials]
    assert all(part.y.shape[1] == part.prior.shape[1] == 2 for part in data)  # a GP for each direction of the ball
    assert [len(part.x) for part in data] == [dynamics.state.rows(trial.steps) for trial in trials]
    model = fit(data[0], kernel=SE() + Linear(on=("angles",)), kinds=tuple(dynamics.state.input_kinds()))
    policy = LinearRBF(10).bind(policy_inputs(dynamics.state, task, trials))
    simulator = Simulator(dynamics=dynamics, policy=policy, start=task.start, cost=task.cost, horizon=25)
    params = {name: 5 * value if name == "weights" else value for name, value in policy.init(jax.random.key(0)).items()}
    params["gains"] = params["gains"] + 0.05
    found = simulator.rollout(params, model.posterior.cast("float64"), jax.random.key(1), 6)
    motors, u = np.asarray(found.q)[..., 2:], np.asarray(found.u)
    assert np.abs(motors).max() > 0.1
    expected = np.clip(motors[:-1] + u, -BallPlate.bound, BallPlate.bound)
    np.testing.assert_allclose(motors[1:], expected, atol=1e-6)


def test_filtered_motor_angles_and_velocities_are_the_same_online_and_offline(task):
    state = plan(task, state=KALMAN).dynamics.state
    trial = execute(task, task.machine.plant(), regulator(), 1)
    t, offline = state.states(trial)
    memory = state.begin(trial.q[0])
    for i in range(1, trial.steps):
        memory = state.push(memory, trial.q[i], trial.u[i])
        online = state.estimate(memory)
        j = int(np.flatnonzero(t == i)[0])
        np.testing.assert_allclose(online.q[2:], offline.q[j, 2:], atol=1e-12)
        np.testing.assert_allclose(online.v[2:], offline.v[j, 2:], atol=1e-9)


def test_basis_functions_start_on_the_plate_and_within_the_motors_bounds(task):
    policy = RBF(300).bind(policy_inputs(plan(task).dynamics.state, task, [explored(task, 0)]))
    centers = policy.init(jax.random.key(0))["centers"]
    assert 0.14 < np.abs(centers[:, :2] * policy.inputs.scale[:2]).max() <= 0.15
    for i in (2, 4):
        angle = np.arctan2(centers[:, i], centers[:, i + 1])
        assert 0.5 < np.abs(angle).max() <= BallPlate.bound


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commanded": "voltage"}, "which is not an input of task"),
        ({"bounds": (1.0, -1.0)}, "lower"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_an_impossible_position_is_rejected_in_a_sentence(task, change, message):
    *others, last = task.machine.positions
    machine = dataclasses.replace(task.machine, positions=(*others, dataclasses.replace(last, **change)))
    with pytest.raises(UserError, match=message):
        dataclasses.replace(task, machine=machine).check()


# -- trials of different lengths ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Pushing:
    """Explores straight to the border."""

    def inputs(self, rng, steps, sampling_time, limits):
        return np.tile([LIMIT, 0.0], (steps, 1))


@pytest.fixture(scope="module")
def pushed(task):
    return dataclasses.replace(task, exploration=Pushing(), explorations=1)


@pytest.fixture(scope="module")
def run(pushed, tmp_path_factory):
    """A run whose exploration ended early, and its folder."""
    out = tmp_path_factory.mktemp("ball") / "run"
    return vfpilco.learn(pushed, seed=4, trials=2, out=out, **QUICK), out


def test_learns_from_trials_of_different_lengths_and_is_resumed_with_them(pushed, run, tmp_path):
    result, out = run
    steps = [trial.steps for trial in result.trials]
    assert steps[0] < 60
    assert [row.kind for row in result.rows] == ["explore", "explore", "policy", "policy"]  # one was too short
    for row, trial in zip(result.rows, result.trials, strict=True):
        assert (row.ended_s is not None) == (trial.steps < 90)
        if row.ended_s is not None:
            assert row.ended_s == pytest.approx(trial.steps * SAMPLING_TIME)
    experience = np.cumsum([0.0, *(trial.duration for trial in result.trials)])
    np.testing.assert_allclose([row.experience_s for row in result.rows], experience[:-1])
    assert result.model.points == sum(step - 2 for step in steps[:-1])
    # Interrupted while the last policy was on the plant.
    parts = tmp_path / "parts"
    shutil.copytree(out, parts)
    lines = (out / "results.jsonl").read_text().splitlines(keepends=True)
    (parts / "results.jsonl").write_text("".join(lines[:-1]))
    for path in parts.glob("trials/003.*"):
        path.unlink()
    vfpilco.learn(pushed, out=parts, resume=True)
    assert (parts / "results.jsonl").read_bytes() == (out / "results.jsonl").read_bytes()
    assert (parts / "trials/003.csv").read_bytes() == (out / "trials/003.csv").read_bytes()
    np.testing.assert_array_equal(RunFolder(out).trial(0, 4).q, result.trials[0].q)


def test_a_run_with_an_ended_trial_can_be_drawn(pushed, run, tmp_path):
    file = draw_run(pushed, RunFolder(run[1]), tmp_path / "picture.png")
    assert len(file.read_bytes()) > 20_000


def test_an_ended_trial_that_was_logged_completely_is_not_executed_again(pushed, tmp_path):
    # The situation after a power cut between the end of an execution and the writing of its file.
    recorded = execute(dataclasses.replace(pushed, ends=None), pushed.machine.plant(), outwards, 0)
    end = next(i for i, q in enumerate(recorded.q) if pushed.ends(q))
    folder = RunFolder(tmp_path / "other")
    folder.write_header(Plan(pushed, Settings().replace(**pushed.settings)).header())
    for last, kept in ((end, True), (end - 1, False)):
        log = folder.open_log(0, pushed)
        for i in range(last + 1):
            log.add(i, recorded.q[i], recorded.u[i] if i < last or not kept else None, [recorded.true[i]])
        log.close()
        finished = folder.finished_trial(0, pushed, partial(trimmed, pushed))
        assert (finished is not None) == kept
        if kept:
            assert finished.steps == folder.trial(0, 4).steps == end - 1
            folder = RunFolder(tmp_path / "cut")


def test_a_run_whose_trials_all_end_at_once_reports_that_nothing_can_be_learned(task):
    with pytest.raises(UserError, match="nothing can be learned"):
        vfpilco.learn(dataclasses.replace(task, ends=lambda q: True), seed=0, trials=1, **QUICK)


def test_camera_noise_in_particles_is_uniform_and_motors_have_none():
    drawn = np.asarray(CAMERA.noise(JaxRandom(jax.random.key(0), np.float32), (20000, 4)))
    np.testing.assert_allclose(drawn[:, :2].std(0), 1e-3 / np.sqrt(12), rtol=0.02)
    assert np.abs(drawn[:, :2]).max() <= 0.5e-3
    assert np.all(drawn[:, 2:] == 0)
