"""The machines in examples/machines: each is a complete task that can be solved from what its sensors measure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest
from feedback import Controller, Proportional, Regulator, SwingUp

import vfpilco

FOLDER = Path(__file__).parents[2] / "examples/machines"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py"))
CURRENT = float(np.sqrt(0.05 * 9.81 * 0.01 / 1e-4))
"""What holds the steel ball, A."""


@cache
def shelf(name: str) -> vfpilco.Task:
    return vfpilco.task(str(FOLDER / f"{name}.py"))


CONTROLLERS = {
    "balancing_robot": lambda task: Regulator(task, np.zeros(4), [0.5, 20], 0.05, [0, 0, 0.3, 0.05]),
    "ball_and_beam": lambda task: Regulator(task, np.zeros(4), [30, 0.5, 5], 0.1, [0, 0, 0.01, 0.5]),
    "cartpole_with_backlash": SwingUp,
    "end_stop_slider": lambda task: Regulator(task, np.array([0.19, 0]), [1000], 0.02, [0, 0.01]),
    "flexible_link": lambda task: Regulator(task, np.array([np.pi / 3, 0, 0, 0]), [10, 1], 0.05, [0, 0, 0.05, 0.05]),
    "helicopter": lambda task: Regulator(
        task, np.array([0, np.pi / 4, 0, 0]), [10, 10, 0.1, 0.1], 0.01, [0, 0, 0.05, 0.05]
    ),
    "magnetic_levitation": lambda task: Regulator(task, np.array([0, 0, CURRENT]), [1], 0.01, [0, 0.5, 0.02]),
    "pneumatic_positioner": lambda task: Proportional(task, goal=0.04, gain=40.0, damping=1.0),
    "reaction_wheel_pendulum": lambda task: Regulator(task, np.zeros(4), [100, 1e-4, 1, 1e-4], 1e-4, [0, 0, 0.05, 5.0]),
}
"""A controller for every machine, made by hand, that sees measured positions only."""


def drive(name: str, controller: Controller, seed: int) -> np.ndarray:
    """The true positions in a trial, as far as it goes."""
    task, plant = shelf(name), shelf(name).machine.plant()
    q = plant.reset(seed)
    path = [plant.true_positions]
    while len(path) <= task.horizon and not task.ended(q):
        q = plant.step(controller(q))
        path.append(plant.true_positions)
    return np.array(path)


def solved(name: str, path: np.ndarray) -> bool:
    return len(path) == shelf(name).horizon + 1 and shelf(name).success(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_hand_made_controller_solves_it_from_measured_positions(name):
    controller = CONTROLLERS[name](shelf(name))
    unsolved = [seed for seed in range(20) if not solved(name, drive(name, controller.reset(), seed))]
    assert not unsolved


@pytest.mark.parametrize("name", NAMES)
def test_it_is_not_solved_without_inputs_or_by_exploring(name):
    task = shelf(name)
    assert not solved(name, drive(name, lambda q: np.zeros(len(task.machine.inputs)), 3))
    assert not any(solved(name, drive(name, task.explorer(seed, 0), seed)) for seed in range(2))


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_short_and_says_nothing_about_the_method(name):
    task, text = shelf(name), (FOLDER / f"{name}.py").read_text()
    task.check()
    assert len(text.splitlines()) <= 80
    assert dict(task.settings) == {}
    assert task.name == name.replace("_", "-")
    assert f"vfpilco learn examples/machines/{name}.py" in text
    assert 0.01 <= task.machine.sampling_time <= 0.05
    assert task.horizon <= 150


@pytest.mark.parametrize("name", NAMES)
def test_trials_start_where_the_particles_do(name):
    task, plant = shelf(name), shelf(name).machine.plant()
    starts = np.array([plant.reset(seed) for seed in range(30)])
    assert [task.far_from_start(q) for q in starts] == [None] * 30
    error = task.machine.sensor.error_std(np.zeros((3, plant.positions)))
    np.testing.assert_allclose(starts.std(0), np.hypot(task.start.std, error), rtol=0.5, atol=2 * error.max())
    assert not any(task.ended(q) for q in starts)


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_is_between_zero_and_one_smooth_and_lowest_at_the_goal(name):
    """A particle that falls for ever costs as much as a machine that has fallen."""
    task = shelf(name)
    scale = np.array([np.pi if p.angle else 4 * p.scale for p in task.machine.positions])
    anywhere = scale * np.random.default_rng(0).normal(size=(500, len(scale)))
    at_the_goal = drive(name, CONTROLLERS[name](task), 0)[-10:]
    q = np.concatenate([anywhere, 1e3 * anywhere[:10], at_the_goal])
    with_cost = jax.grad(lambda q: ((cost := task.cost(q)).sum(), cost), has_aux=True)
    slope, cost = (np.asarray(found) for found in jax.jit(with_cost)(q))
    assert np.all((cost >= 0) & (cost <= 1))
    assert np.all(np.isfinite(slope))
    np.testing.assert_allclose(cost[500:510], 1.0)
    assert cost[510:].mean() < 0.02


@pytest.mark.parametrize("name", NAMES)
def test_finer_integration_gives_the_same_motion(name):
    task = shelf(name)
    coarse, fine = task.machine.plant(), task.machine.plant()
    fine.substeps *= 8
    inputs = task.exploring_inputs(0, 0)[:12]
    ends = []
    for plant in (coarse, fine):
        plant.reset(1)
        ends.append(np.array([plant.step(u) * 0 + plant.true_positions for u in inputs]))
    moved = np.abs(ends[1] - ends[1][0]).max(0)
    assert np.all(moved > 0)
    np.testing.assert_array_less(np.abs(ends[0] - ends[1]).max(0), 0.01 * moved)


def test_every_machine_is_in_the_documentation():
    page = (FOLDER.parents[1] / "docs/reference/shelf.md").read_text()
    assert sorted(CONTROLLERS) == NAMES
    for name in NAMES:
        assert f"(../../examples/machines/{name}.py)" in page
