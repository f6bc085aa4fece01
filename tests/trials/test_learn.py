from __future__ import annotations

import csv
import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import SIZES
from variants import variant

import vfpilco
from vfpilco import MLP, RBF, SE, Linear, VelocityFree
from vfpilco.data.watcher import Watcher
from vfpilco.model import model as models
from vfpilco.model.prior_mean import ZeroMean
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import PREDICTION

SMALL = {"steps": 6, **SIZES}

COMPILATIONS = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, *_, **__: COMPILATIONS.append(name) if name.endswith("backend_compile_duration") else None
)


class Recorder(Watcher):
    """Records everything that is reported."""

    def __init__(self):
        self.phases, self.rows, self.notes, self.steps, self.compiled = [], [], [], [], {}

    def phase(self, trial, name):
        self.phases.append((trial, name))
        self.compiled[trial] = len(COMPILATIONS)

    def step(self, done, total, cost):
        self.steps.append((done, total, cost))

    def executed(self, row):
        self.rows.append(row)

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "a"
    watch = Recorder()
    result = vfpilco.learn(vfpilco.task("cartpole"), seed=7, trials=2, out=out, watch=watch, **SMALL)
    return result, RunFolder(out), watch


def test_a_run_goes_through_the_three_phases_for_every_trial(small_run):
    _, _, watch = small_run
    names = [name for trial, name in watch.phases if trial == 2]
    assert names == ["learning the model", "optimising the policy", "predicting", "running on the plant"]
    assert [row.kind for row in watch.rows] == ["explore", "policy", "policy"]
    assert watch.steps[-1][0] == watch.steps[-1][1] == SMALL["steps"]


def test_nothing_is_compiled_after_the_first_trials():
    watch = Recorder()
    vfpilco.learn(vfpilco.task("cartpole"), trials=3, watch=watch, **{**SMALL, "policy": RBF(14)})
    assert watch.compiled[1] > watch.compiled[0]
    assert watch.compiled[3] == watch.compiled[2]


def test_the_result_has_policy_trials_and_model(small_run):
    result, _, _ = small_run
    assert len(result.trials) == 3
    assert len(result.successes) == 2
    assert result.model.points == 2 * 88
    u = result.policy(np.zeros(2))
    assert u.shape == (1,)
    assert abs(u[0]) <= 10


def test_csv_files_have_the_documented_columns_and_rows_and_are_exact(small_run):
    result, folder, _ = small_run
    rows = list(csv.reader((folder.path / "trials/001.csv").read_text().splitlines()))
    assert rows[0] == ["t", "p", "alpha", "force"]
    assert len(rows) == 1 + 91
    assert rows[-1][3] == ""
    assert all(row[3] != "" for row in rows[1:-1])
    read = folder.trial(1, 2)
    np.testing.assert_array_equal(read.q, result.trials[1].q)
    np.testing.assert_array_equal(read.u, result.trials[1].u)


def test_a_policy_replayed_on_a_csv_file_computes_the_inputs_in_it(small_run):
    _, folder, _ = small_run
    for trial in (1, 2):
        policy, recorded = folder.policy(trial), folder.trial(trial, 2)
        replayed = np.array([policy(q) for q in recorded.q[:-1]])
        np.testing.assert_allclose(replayed, recorded.u, rtol=0, atol=1e-12)


def test_the_lines_of_the_results_contain_what_happened(small_run):
    result, folder, _ = small_run
    rows = folder.results()
    assert rows == result.rows
    explore, first, second = rows
    assert (explore.kind, explore.experience_s) == ("explore", 0)
    assert explore.trial is None
    assert "trial" not in json.loads((folder.path / "results.jsonl").read_text().splitlines()[0])
    assert (first.trial, second.trial) == (1, 2)
    assert first.experience_s == pytest.approx(3.0)
    assert second.experience_s == pytest.approx(6.0)
    true = result.trials[2].true
    expected = -np.expm1(-(((np.abs(true[:, 1]) - np.pi) / 3) ** 2) - true[:, 0] ** 2)
    assert second.cost == pytest.approx(expected.sum(), rel=1e-12)
    band = second.predicted_cost
    assert band.low <= band.mean <= band.high
    assert len(second.model.noise) == len(second.model.multi_step_error) == 2
    predicted, _ = folder.artifact(PREDICTION, 2)
    succeeded = [result.task.success(q) for q in predicted.q.swapaxes(0, 1)]
    assert second.success_chance == np.mean(succeeded)


def test_only_the_timings_contain_times_and_no_temporary_file_is_left(small_run):
    _, folder, _ = small_run
    names = {str(f.relative_to(folder.path)) for f in folder.path.rglob("*") if f.is_file()}
    per_trial = ("models", "optimisations", "policies", "predictions")
    trials = {f"trials/{i:03d}.{end}" for i in range(3) for end in ("csv", "csv.sha256", "true.csv", "true.csv.sha256")}
    assert names == {".lock", "run.json", "results.jsonl", "timings.jsonl", "policy.safetensors"} | trials | {
        f"{kind}/{i:03d}.safetensors" for kind in per_trial for i in (1, 2)
    }
    assert "seconds" not in (folder.path / "results.jsonl").read_text() + (folder.path / "run.json").read_text()
    header = folder.header()
    assert header.seed == 7
    assert header.settings["optimiser"]["particles"] == 4
    assert header.versions["vfpilco"] == vfpilco.__version__


def test_the_same_seed_gives_identical_files_and_another_seed_does_not(small_run, tmp_path):
    _, folder, _ = small_run
    task = vfpilco.task("cartpole")
    vfpilco.learn(task, seed=7, trials=2, out=tmp_path / "again", **SMALL)
    vfpilco.learn(task, seed=8, trials=1, out=tmp_path / "other", **SMALL)
    for file in folder.path.rglob("*"):
        if file.is_file() and file.name != "timings.jsonl":
            assert file.read_bytes() == (tmp_path / "again" / file.relative_to(folder.path)).read_bytes(), file
    assert (folder.path / "trials/000.csv").read_bytes() != (tmp_path / "other/trials/000.csv").read_bytes()


@pytest.mark.long
def test_the_exploration_does_not_depend_on_the_settings_of_the_method(small_run, tmp_path):
    _, folder, _ = small_run
    state = VelocityFree(m_q=1, m_u=0)
    vfpilco.learn(vfpilco.task("cartpole"), seed=7, trials=1, out=tmp_path / "a", **{**SMALL, "state": state})
    assert (folder.path / "trials/000.csv").read_bytes() == (tmp_path / "a/trials/000.csv").read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"m_q": 1, "m_u": 0},
        {"policy_m_u": 1},
        pytest.param({"encoding": "positions", "m_q": 3, "m_u": 2}, marks=pytest.mark.long),
        pytest.param({"state": VelocityFree(3, 2)}, marks=pytest.mark.long),
        {"policy": MLP(15)},
    ],
)
def test_other_memories_encodings_and_policies_learn(settings):
    result = vfpilco.learn(vfpilco.task("cartpole"), trials=1, **{**SMALL, **settings})
    assert np.isfinite(result.rows[-1].cost)


def test_a_kernel_on_features_that_the_task_does_not_have_is_refused_before_the_plant_moves(tmp_path):
    wrong = {**SMALL, "kernel": SE() + Linear(on=("features",))}
    with pytest.raises(vfpilco.UserError, match="A kernel is on features"):
        vfpilco.learn(vfpilco.task("cartpole"), out=tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_run_in_float64_with_an_exact_posterior_learns():
    task = dataclasses.replace(vfpilco.task("cartpole"), horizon=20)
    result = vfpilco.learn(task, trials=1, **{**SMALL, "precision": "float64", "inducing": 0, "prior_mean": ZeroMean()})
    assert result.policy.params["weights"].dtype == np.float64


@pytest.mark.long
def test_float64_is_used_where_float32_is_not_precise_enough(monkeypatch):
    task = dataclasses.replace(vfpilco.task("cartpole"), horizon=20)
    monkeypatch.setattr(models, "MOST_ROUNDING", 0.0)
    watch = Recorder()
    result = vfpilco.learn(task, trials=1, watch=watch, **SMALL)
    assert result.policy.params["weights"].dtype == np.float64
    assert len([note for note in watch.notes if "in float64" in note]) == 1
    assert all(0 < share < 0.1 for share in result.rows[-1].model.rounding)


def test_without_a_watcher_notes_are_logged(caplog):
    Watcher().note("something happened")
    assert "something happened" in caplog.text


class Doubled:
    """Two cart-poles driven at once: four positions, two inputs."""

    def __init__(self):
        self.plants = [vfpilco.task("cartpole").machine.plant() for _ in range(2)]

    def reset(self, seed):
        return np.concatenate([plant.reset(seed + i) for i, plant in enumerate(self.plants)])

    def step(self, u):
        return np.concatenate([plant.step(u[i : i + 1]) for i, plant in enumerate(self.plants)])

    def stop(self):
        pass


def test_several_inputs_angles_and_explorations_learn(tmp_path):
    one = vfpilco.task("cartpole")
    positions = one.machine.positions
    task = variant(
        one,
        plant=Doubled,
        positions=tuple(vfpilco.Position(f"{p.name}{i}", p.unit, p.angle) for i in (1, 2) for p in positions),
        inputs=(vfpilco.Input("f1", "N", 10.0), vfpilco.Input("f2", "N", 5.0)),
        sensor=vfpilco.GaussianNoise([1e-3, 2e-3] * 2),
        start=vfpilco.GaussianStart([0.0] * 4, [0.01] * 4),
        cost=lambda q: one.cost(q[..., :2]) + one.cost(q[..., 2:]),
        horizon=25,
        explorations=2,
        success=lambda q: False,
        target=None,
    )
    result = vfpilco.learn(task, trials=2, out=tmp_path / "a", **SMALL)
    assert [row.kind for row in result.rows] == ["explore", "explore", "policy", "policy"]
    assert result.rows[-1].experience_s == pytest.approx(3 * 25 / 30)
    u = result.trials[-1].u
    assert u.shape == (25, 2)
    assert np.all(np.abs(u) <= [10, 5])


def test_steps_with_costs_that_are_not_finite_are_repeated_and_reported():
    def fragile(q):
        return jnp.where(jnp.abs(q[..., 0]) > 1e-4, jnp.nan, q[..., 0] ** 2)

    task = dataclasses.replace(vfpilco.task("cartpole"), cost=fragile, horizon=5)
    watch = Recorder()
    with pytest.raises(vfpilco.UserError, match="never finite"):
        vfpilco.learn(task, trials=1, watch=watch, **{**SMALL, "m_q": 1})
    assert any("other particles" in note for note in watch.notes)
    assert any("a new initial policy is drawn" in note for note in watch.notes)


@pytest.mark.long
def test_the_swing_up_is_learned_by_trial_5_and_the_particles_predict_it(tmp_path):
    task = vfpilco.task("cartpole")
    result = vfpilco.learn(task, seed=100, trials=5, out=tmp_path / "a")
    assert result.successes[4]
    assert all(row.band_coverage >= 0.8 for row in result.rows if (row.trial or 0) >= 3)
    found = vfpilco.evaluate(task, result.policy, episodes=20)
    assert found.summary().success_rate >= 0.9
