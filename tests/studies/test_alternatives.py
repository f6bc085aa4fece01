"""Other methods on the same machines: each part, and how their attempts are recorded and drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.data.results import TrialResult
from vfpilco.model.fit import fit
from vfpilco.studies.alternatives import by_hand, compare, methods, model_free, observations, ours, planning
from vfpilco.studies.alternatives.comparison import Wanted, wanted
from vfpilco.studies.alternatives.methods import METHODS, TASKS
from vfpilco.studies.alternatives.page import median, table
from vfpilco.studies.alternatives.records import AlternativeRecord, Attempt
from vfpilco.studies.records import append, read_lines
from vfpilco.trials.execute import execute


def record(method: str, task: str, seed: int, solved: bool = True, experience: float = 9.0) -> AlternativeRecord:
    return AlternativeRecord(method, task, seed, Attempt(solved, experience, experience / 60, 3))


def read(file: Path) -> list[AlternativeRecord]:
    return read_lines(file, AlternativeRecord)


# -- what a model-free learner observes --------------------------------------------------------------------------


def test_observations_hold_positions_differences_and_inputs_in_units_of_about_one():
    machine = vfpilco.task("ballplate").machine
    seen, rng = observations.Observations(machine), np.random.default_rng(0)
    q = np.cumsum(rng.normal(size=(6, 4)), axis=0) * 0.01
    u = rng.uniform(-1, 1, size=(5, 2)) * machine.limits
    seen.reset(q[0])
    for t in range(1, 6):
        found = seen.next(q[t], u[t - 1])
    scale = machine.positions[0].scale
    assert len(found) == seen.size == 2 + 4 + 3 * 4 + 3 * 2
    np.testing.assert_allclose(found[:2], q[5, :2] / scale, rtol=1e-6)
    np.testing.assert_allclose(found[6:8], (q[5] - q[4])[:2] / (0.1 * scale), rtol=1e-5)
    np.testing.assert_allclose(found[-6:-4], u[4] / machine.limits, rtol=1e-6)
    np.testing.assert_allclose(found[-2:], u[2] / machine.limits, rtol=1e-6)


def test_an_environment_shows_windows_of_positions_and_inputs():
    from vfpilco.studies.alternatives.environment import Windowed

    env = Windowed("cartpole")
    first, _ = env.reset(seed=3)
    after, reward, *_ = env.step(np.array([5.0]))
    assert first.shape == after.shape == (3 + 3 * 2 + 3,)
    assert env.observation_space.contains(first)
    assert env.observation_space.contains(after)
    assert after[-3] == pytest.approx(0.5)
    assert -1 <= reward <= 0


def test_a_policy_of_stable_baselines_drives_our_plants_by_the_same_observations(task):
    seen = []

    def predict(observation, deterministic):
        assert deterministic
        seen.append(observation)
        return np.array([4.0]), None

    trial = execute(task, task.machine.plant(), model_free.Controller(task, predict), 0)
    assert np.all(trial.u == 4.0)
    assert len(seen) == task.horizon
    assert seen[0][-3:].tolist() == [0, 0, 0]
    assert seen[5][-3:] == pytest.approx([0.4] * 3)


def test_a_missing_package_is_reported_with_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(UserError, match=r"needs Stable-Baselines3: pip install 'vfpilco\[baselines\]'"):
        compare(results=tmp_path, only=("sac",))


@pytest.mark.long
@pytest.mark.parametrize("name", ["sac", "tqc"])
def test_model_free_learning_counts_its_experience(name):
    """Needs the extra `baselines`."""
    attempt = model_free.learn(name, "cartpole", seed=100, cut_off=9.0, episodes=2)
    assert not attempt.solved
    assert attempt.experience_s == pytest.approx(12.0)  # two times two episodes of three seconds
    assert attempt.executions == 2


# -- planning on the GPs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problem(dynamics, task):
    return planning.Problem(dynamics, task.cost, population=24, elites=4, rounds=3)


@pytest.fixture(scope="module")
def model(dynamics, explore):
    return fit(dynamics.training_sets([explore(0)]))


def test_the_cost_of_a_plan_is_that_of_the_mean_prediction(problem, model, dynamics, task):
    state = dynamics.state
    window, plans = state.begin(np.array([0.0, 0.1])), np.random.default_rng(0).normal(size=(3, 5, 1))
    found = problem.costs(model.posterior.cast("float64"), jax.tree.map(jnp.asarray, window), jnp.asarray(plans))
    for plan, cost in zip(plans, found, strict=True):
        x, expected = window, 0.0
        for u in plan:
            mean, _ = model.predict(state.gp_input(x, u)[None])
            x = state.advance(x, u, dynamics.mean(x, u) + mean[0])
            expected += float(task.cost(x.q[0]))
        assert float(cost) == pytest.approx(expected, rel=1e-6)


def test_a_plan_becomes_better_and_stays_within_the_limits(problem, model, dynamics, task):
    posterior, limits = model.posterior.cast("float64"), jnp.array([10.0])
    x = jax.tree.map(jnp.asarray, dynamics.state.begin(np.array([0.3, 0.0])))
    nothing = jnp.zeros((8, 1))
    plan = planning.improved(problem, posterior, x, nothing, limits, jax.random.key(0))
    before, after = problem.costs(posterior, x, jnp.stack([nothing, plan]))
    assert after < before
    assert np.all(np.abs(plan) <= 10)


def test_a_planner_remembers_what_it_applied_and_shifts_its_plan(problem, model):
    planner = planning.Planner(problem, model.posterior.cast("float64"), np.array([10.0]), 6, jax.random.key(1))
    first = planner(np.zeros(2))
    planner(np.array([0.01, 0.0]))
    assert planner.window.u[0] == pytest.approx(first)
    assert planner.window.q[0].tolist() == [0.01, 0.0]
    assert planner.plan.shape == (6, 1)


@pytest.mark.long
def test_planning_solves_the_ball_and_plate():
    attempt = planning.learn("ballplate", 100, trials=3)
    assert attempt.solved
    assert 0 < attempt.experience_s < 20


# -- controllers made by hand, and the method itself -------------------------------------------------------------


@pytest.mark.parametrize("name", by_hand.CONTROLLERS)
def test_controllers_made_by_hand_solve_their_tasks_without_experience(name):
    attempts = [by_hand.run(name, seed) for seed in (100, 103)]
    assert [attempt.solved for attempt in attempts] == [True, True]
    assert {attempt.experience_s for attempt in attempts} == {0.0}


def test_a_run_ends_at_its_first_success(monkeypatch):
    rows = [("explore", False), ("policy", False), ("policy", True), ("policy", True)]

    def run(task, *, seed, trials, watch):
        for i, (kind, success) in enumerate(rows):
            watch.executed(TrialResult(cost=1.0, success=success, kind=kind, experience_s=3.0 * i))

    monkeypatch.setattr(ours, "learn_run", run)
    attempt = ours.learn("cartpole", 0)
    assert (attempt.solved, attempt.experience_s, attempt.executions) == (True, 6.0, 3)


# -- the comparison ----------------------------------------------------------------------------------------------


def test_every_method_has_every_task_that_it_can_solve():
    every = wanted(2)
    assert len(every) == 2 * sum(len(method.tasks) for method in METHODS.values())
    assert Wanted("by-hand", "furuta", 0) not in every
    assert {one.method for one in wanted(1, ("mpc",))} == {"mpc"}
    with pytest.raises(UserError, match="no method called 'ppo'"):
        wanted(1, ("ppo",))


def test_attempts_are_recorded_as_they_finish_and_not_repeated(tmp_path):
    made = []

    def attempt(one: Wanted, core, attendance):
        made.append(one.name)
        if one.task == "furuta" and len(made) < 5:
            return "it failed"
        return record(one.method, one.task, one.seed)

    options = {"results": tmp_path, "seeds": 1, "only": ("vfpilco", "by-hand"), "workers": 1, "attempt": attempt}
    first = compare(**options)
    assert first.failed == ["furuta-vfpilco-seed0"]
    assert len(read(tmp_path / "alternatives.jsonl")) == 4
    made[:] = ["", "", "", "", ""]
    again = compare(**options)
    assert made[5:] == ["furuta-vfpilco-seed0"]
    assert again.failed == []
    assert again.table in (tmp_path / "alternatives.md").read_text()
    assert (tmp_path / "alternatives.png").read_bytes()[:4] == b"\x89PNG"


def test_medians_count_unsolved_runs_as_infinite():
    runs = [record("sac", "cartpole", seed, solved, 100.0 * (1 + seed)) for seed, solved in enumerate((1, 1, 0))]
    assert median(runs, "experience_s") == 200
    assert median(runs[1:], "experience_s") == np.inf
    lines = table([*runs[1:], record("vfpilco", "cartpole", 0)]).splitlines()
    assert lines[2] == "| cartpole | vfpilco | 1 of 1 | 9 | 0.15 |"
    assert lines[3] == "| cartpole | sac | 1 of 2 | more than 300 | more than 5 |"


def test_records_survive_their_file_and_a_damaged_line_is_named(tmp_path):
    file = tmp_path / "alternatives.jsonl"
    both = [record("mpc", task, 1) for task in TASKS[:2]]
    for one in both:
        append(file, one)
    assert read(file) == both
    file.write_text(file.read_text() + "{}\n")
    with pytest.raises(UserError, match="damaged in line 3"):
        read(file)


def test_an_attempt_is_made_in_a_process_of_its_own(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vfpilco.studies.alternatives.comparison.TASKS", ("ballplate",))
    words = ["reproduce", "alternatives", "--seeds", "1", "--only", "by-hand", "--results", str(tmp_path)]
    assert main(words) == 0
    assert "ballplate-by-hand-seed0" in capsys.readouterr().out
    (made,) = read(tmp_path / "alternatives.jsonl")
    assert made.attempt.solved
    assert made.versions["vfpilco"] == vfpilco.__version__
    with pytest.raises(UserError, match="no method called 'magic'"):
        methods.record("magic", "cartpole", 0)
