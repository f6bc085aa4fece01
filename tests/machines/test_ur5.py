from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.machines.ur5 import plant as ur5
from vfpilco.machines.ur5.task import task as make_task
from vfpilco.report.picture import draw_run, photograph_run
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import execute

GRAVITY = 9.81


@pytest.fixture(scope="module")
def arm() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ur5.description())


@pytest.fixture(scope="module")
def ur5_task() -> Task:
    return vfpilco.task("ur5")


@contextmanager
def rendering() -> Iterator[None]:
    """Without EGL pictures cannot be tested; CI has it."""
    try:
        yield
    except UserError as error:
        if os.environ.get("VFPILCO_NO_SKIP"):
            raise
        pytest.skip(str(error))


def postures(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-3, 3, size=(n, 6))


def moved(arm: mujoco.MjModel, q: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(arm)
    data.qpos[:] = q
    mujoco.mj_forward(arm, data)
    return data


def centres_of_mass(q: np.ndarray) -> np.ndarray:
    """Computed from the published values and the independent kinematics."""
    ends = ur5.frames(q)[1:]
    return np.array([(end @ [*link.centre, 1.0])[:3] for end, link in zip(ends, ur5.LINKS, strict=True)])


def potential(q: np.ndarray) -> float:
    return sum(GRAVITY * link.mass * centre[2] for link, centre in zip(ur5.LINKS, centres_of_mass(q), strict=True))


def test_the_stretched_arm_has_its_flange_where_the_data_sheet_says():
    # All joints at zero: both arm links along -x, the wrist offsets along -y and -z.
    expected = [-0.425 - 0.39225, -0.10915 - 0.0823, 0.089159 - 0.09465]
    np.testing.assert_allclose(ur5.flange(np.zeros(6)), expected, atol=1e-12)


def test_the_model_agrees_with_independent_kinematics(arm):
    for q in postures(20):
        data = moved(arm, q)
        pose = ur5.frames(q)[-1]
        np.testing.assert_allclose(data.site("flange").xpos, pose[:3, 3], atol=1e-9)
        np.testing.assert_allclose(data.site("flange").xmat.reshape(3, 3), pose[:3, :3], atol=1e-9)
        np.testing.assert_allclose(data.xipos[1:], centres_of_mass(q), atol=1e-8)


def test_the_jacobian_agrees_with_finite_differences_of_the_flange():
    for q in postures(5):
        h = 1e-6
        numeric = np.array([(ur5.flange(q + h * e) - ur5.flange(q - h * e)) / (2 * h) for e in np.eye(6)]).T
        np.testing.assert_allclose(ur5.jacobian(q)[:3], numeric, atol=1e-8)


def test_gravity_torques_are_the_gradient_of_the_potential_energy(arm):
    for q in postures(10):
        h = 1e-6
        gradient = [(potential(q + h * e) - potential(q - h * e)) / (2 * h) for e in np.eye(6)]
        np.testing.assert_allclose(moved(arm, q).qfrc_bias, gradient, atol=1e-5)


def test_the_model_has_the_masses_gear_and_friction_of_the_arm(arm):
    np.testing.assert_allclose(arm.body_mass[1:], [link.mass for link in ur5.LINKS])
    np.testing.assert_allclose(arm.dof_damping, [65, 65, 65, 45, 45, 45])
    np.testing.assert_allclose(arm.dof_armature, 0.01)
    np.testing.assert_allclose(arm.actuator_gear[:, 0], 101)
    np.testing.assert_allclose(arm.actuator_ctrlrange, [[-1, 1]] * 6)
    assert arm.opt.timestep == 1e-3
    inertias = np.array([arm.body_inertia[i + 1] for i in range(6)])
    assert np.all(inertias.max(1) <= inertias.sum(1) / 2 + 1e-12)  # as any body's


def test_halving_the_step_changes_nothing_that_matters(arm):
    u = 0.3 * np.sin(np.arange(6))
    ends = []
    for step in (1e-3, 0.5e-3):
        arm.opt.timestep = step
        data = moved(arm, np.array(ur5.START))
        data.ctrl[:] = u
        mujoco.mj_step(arm, data, round(1 / step))
        ends.append(data.qpos.copy())
    arm.opt.timestep = 1e-3
    assert np.abs(ends[0] - ur5.START).max() > 0.1
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)


def test_the_reference_draws_the_circle_from_rest_without_jumps(ur5_task):
    q = ur5_task.reference
    path = ur5.flange(q)
    np.testing.assert_allclose(q[0], ur5.START)
    centre = path[0] - [0.1, 0, 0]
    np.testing.assert_allclose(np.linalg.norm(path - centre, axis=1), 0.1, atol=1e-9)
    np.testing.assert_allclose(path[:, 2], path[0, 2], atol=1e-9)
    np.testing.assert_allclose(path[-1], path[0], atol=1e-9)  # one full turn
    turned = np.unwrap(np.arctan2(path[:, 1] - centre[1], path[:, 0] - centre[0]))
    assert abs(turned[-1] - turned[0]) == pytest.approx(2 * np.pi)
    orientation = ur5.frames(q)[:, -1, :3, :3]
    np.testing.assert_allclose(orientation, np.broadcast_to(orientation[0], orientation.shape), atol=1e-9)
    velocity = np.diff(q, axis=0) / 0.02
    assert np.abs(velocity[0]).max() < 0.01
    assert np.abs(np.diff(velocity, axis=0)).max() < 0.05


def test_size_and_speed_of_the_circle_are_settings():
    small = make_task(radius=0.05, period=8.0).reference
    path = ur5.flange(small)
    assert np.ptp(path[:, 1]) == pytest.approx(0.1 / 2, abs=0.01)  # half a turn of the half circle
    with pytest.raises(UserError, match="cannot reach"):
        ur5.circle(200, 0.02, radius=0.6)
    with pytest.raises(UserError, match="got -1"):
        ur5.circle(200, 0.02, radius=-1)


def test_the_task_can_be_solved_within_its_limits(arm, ur5_task):
    # Inverse dynamics of the reference and a stiff controller, which the learner does not have.
    reference = ur5_task.reference
    velocity = np.gradient(reference, 0.02, axis=0)
    data, feed = mujoco.MjData(arm), []
    for q, v, a in zip(reference, velocity, np.gradient(velocity, 0.02, axis=0), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(arm, data)
        feed.append(data.qfrc_inverse / ur5.GEAR)
    rows = iter(zip(feed, reference, strict=True))

    def controller(q: np.ndarray) -> np.ndarray:
        u, goal = next(rows)
        return u + 4 * (goal - q)

    trial = execute(ur5_task, ur5_task.machine.plant(), controller, seed=0)
    assert np.abs(trial.u).max() < 1
    evaluated = ur5_task.evaluate(trial.evaluated)
    assert evaluated.success
    assert evaluated.measures["end-effector error"] < 1


def test_the_end_effector_error_is_the_mean_distance_over_all_steps(ur5_task):
    still = np.broadcast_to(ur5.START, (201, 6))
    path = ur5.flange(ur5_task.reference)
    expected = 1e3 * np.linalg.norm(path - path[0], axis=1)[1:].mean()
    evaluated = ur5_task.evaluate(still)
    assert evaluated.measures["end-effector error"] == pytest.approx(expected)
    assert not evaluated.success
    assert ur5_task.evaluate(ur5_task.reference).measures["end-effector error"] == 0


def test_measurements_are_noisy_and_repeatable(ur5_task):
    plant = ur5_task.machine.plant()
    first = [plant.reset(3), *(plant.step(np.full(6, 0.1)) for _ in range(50))]
    again = [plant.reset(3), *(plant.step(np.full(6, 0.1)) for _ in range(50))]
    np.testing.assert_array_equal(first, again)
    noise = np.array([plant.reset(seed) - ur5.START for seed in range(300)])
    np.testing.assert_allclose(noise.std(0), 1e-3, rtol=0.15)
    plant.stop()
    assert not plant.data.ctrl.any()


def test_exploring_controllers_are_poor_and_differ_by_seed(ur5_task):
    errors = []
    for seed in (0, 1, 0):
        trial = execute(ur5_task, ur5_task.machine.plant(), ur5_task.explorer(seed, 0), seed=7)
        errors.append(ur5_task.evaluate(trial.evaluated).measures["end-effector error"])
        assert np.abs(trial.u).max() <= 1
    assert errors[0] == errors[2]
    assert errors[0] != errors[1]
    assert min(errors) > 20


def test_a_reference_of_another_length_is_rejected(ur5_task):
    short = dataclasses.replace(ur5_task, reference=ur5_task.reference[:-1])
    with pytest.raises(UserError, match=r"shape \(201, 6\).*got shape \(200, 6\)"):
        short.check()


@pytest.mark.long
def test_a_run_on_the_arm_can_be_evaluated_and_drawn(ur5_task, tmp_path, capsys):
    settings = {"steps": 4, "particles": 4, "basis_functions": 5, "inducing": 32}
    out = tmp_path / "run"
    result = vfpilco.learn(ur5_task, seed=0, trials=1, out=out, **settings)
    assert result.rows[-1].measures["end-effector error"] > 0
    np.testing.assert_array_equal(result.policy.reference, ur5_task.reference)
    assert main(["evaluate", str(out), "--episodes", "2"]) == 0
    assert re.search(r"^end-effector error \d+ mm$", capsys.readouterr().out, flags=re.M)
    drawn = draw_run(ur5_task, RunFolder(out), out / "picture.png")
    assert drawn.read_bytes()[:4] == b"\x89PNG"
    with rendering():
        photograph_run(ur5_task, RunFolder(out), out / "photograph.png")
    assert (out / "photograph.png").read_bytes()[:4] == b"\x89PNG"


def test_the_photograph_shows_what_was_drawn(ur5_task):
    still = np.broadcast_to(ur5.START, (201, 6))
    with rendering():
        idle, drawn = (ur5_task.machine.drawing.photograph(q) for q in (still, ur5_task.reference))
    assert idle.shape == (600, 800, 3)

    def orange(image: np.ndarray) -> int:
        red, green, blue = image.astype(int).transpose(2, 0, 1)
        return int(((red > 120) & (red > green + 50) & (red > blue + 50)).sum())

    assert orange(drawn) > 200
    assert orange(drawn) > 5 * orange(idle)
