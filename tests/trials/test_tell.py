"""Runs whose trials are executed elsewhere."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys

import jax
import numpy as np
import pytest
from folders import SIZES, one_sentence
from variants import variant

import vfpilco
from vfpilco import MLP
from vfpilco.cli.main import main
from vfpilco.common.files import write_arrays
from vfpilco.data.results import CostBand
from vfpilco.exports import check as checking
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.limits import Slew
from vfpilco.state.base import Signals
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.trialfile import trial_to_csv
from vfpilco.trials.execute import connect, execute
from vfpilco.trials.replay import difference
from vfpilco.trials.tell import Asked

SMALL = {"steps": 6, **SIZES}


@pytest.fixture(scope="module")
def elsewhere():
    """A task without a plant, and the plant that runs elsewhere."""
    task = vfpilco.task("cartpole")
    return variant(task, plant=None), connect(task)


def explored(task, plant, seed, i=0):
    inputs = iter(task.exploring_inputs(seed, i))
    return execute(task, plant, lambda q: next(inputs), seed)


def test_a_run_elsewhere_is_learned_trial_by_trial(tmp_path, elsewhere, monkeypatch):
    monkeypatch.setattr(checking, "HISTORIES", 300)
    task, plant = elsewhere
    run = tmp_path / "run"
    result = vfpilco.tell(run, task, [explored(task, plant, 0)], seed=5, slew=0.1, **SMALL)
    assert [row.kind for row in result.rows] == ["explore"]
    first = vfpilco.ask(run, task)
    assert first.trial == 1
    again = vfpilco.ask(run, task)
    for name, value in first.policy.params.items():
        np.testing.assert_array_equal(again.policy.params[name], value)
    lost = shutil.copytree(run, tmp_path / "lost")
    (lost / "results.jsonl").unlink()  # the only trial is recorded again, as what it was
    found = vfpilco.ask(lost, task)
    assert (found.trial, found.predicted_cost) == (1, first.predicted_cost)
    assert [row.kind for row in RunFolder(lost).results()] == ["explore"]
    untried = vfpilco.export(run, "numpy", tmp_path / "untried", check=True).report
    first.policy.reset()
    tried = execute(task, plant, first.policy, 9)
    result = vfpilco.tell(run, task, [tried, explored(task, plant, 3)])
    assert [row.kind for row in result.rows] == ["explore", "policy", "explore"]
    assert result.rows[1].trial == 1
    assert result.rows[1].predicted_cost == first.predicted_cost
    assert not [note for note in result.rows[1].notes if "inputs" in note]
    report = vfpilco.export(run, "numpy", tmp_path / "tried", check=True).report
    for found in (untried, report):
        assert found is not None
        assert found.held is not None
        assert found.trial_samples == task.horizon + 1
    second = vfpilco.ask(run, task)
    assert second.trial == 2
    folder = RunFolder(run)
    folder.check()
    _, about = folder.arrays("models", 2)
    assert about["points"] == 3 * 88
    np.testing.assert_array_equal(folder.trial(1, 2).q, tried.q)
    result = vfpilco.tell(run, task, [explored(task, plant, 4)])
    expected = "Trial 2: the logged inputs are not those that the policy computes"
    assert any(expected in note for note in result.rows[3].notes)


def test_added_trials_replace_the_exploration_of_a_plant(tmp_path, elsewhere):
    task, plant = elsewhere
    once = dataclasses.replace(task, trials=1)
    vfpilco.tell(tmp_path / "run", once, [explored(task, plant, 0), explored(task, plant, 1)], **SMALL)
    driven = variant(once, plant=lambda: plant)
    result = vfpilco.learn(driven, out=tmp_path / "run", resume=True)
    assert [row.kind for row in result.rows] == ["explore", "explore", "policy"]
    assert result.rows[2].model.posterior.points == 2 * 88


@pytest.mark.long
def test_settings_may_change_until_the_first_policy_and_policies_may_exceed_the_planned_trials(tmp_path, elsewhere):
    task, plant = elsewhere
    run, short = tmp_path / "run", dataclasses.replace(task, trials=1)
    vfpilco.tell(run, short, [explored(task, plant, 0)], **SMALL)
    vfpilco.ask(run, short, m_u=2)
    assert RunFolder(run).header().settings["state"]["m_u"] == 2
    with pytest.raises(vfpilco.UserError, match=r"learned with m_u 2, got 1: .* may change until the first policy"):
        vfpilco.ask(run, short, m_u=1)
    vfpilco.tell(run, short, [explored(task, plant, 1)])
    assert vfpilco.ask(run, short).trial == 2
    assert RunFolder(run).header().trials == 2


def random_policy(task, slew, gain=1, policy_m_u=0):
    state = vfpilco.VelocityFree(m_q=2, m_u=1, policy_m_u=policy_m_u).bind(Signals((False, True), d_u=1))
    limits = tuple(task.machine.limits.tolist())
    policy = MLP(3).bind(PolicyInputs((1.0,) * 7 + (limits[0] / 2,) * policy_m_u, limits))
    params = {name: gain * value for name, value in policy.init(jax.random.key(0)).items()}
    return vfpilco.LearnedPolicy(state, policy, params, slew=slew)


def test_a_policy_that_sees_past_inputs_is_compared_on_the_logged_ones(elsewhere):
    task, plant = elsewhere
    limits, policy = task.machine.limits, random_policy(task, None, gain=3, policy_m_u=1)
    trial = execute(task, plant, policy, 1)
    assert np.std(trial.u) > 0.1 * limits
    assert difference(policy, trial, limits) == ""
    for logged, words in (
        (np.roll(trial.u, 1, axis=0), "fit one line later"),
        (np.roll(trial.u, -1, axis=0), "fit one line earlier"),
        (-trial.u, "Check that the machine ran this policy"),
    ):
        assert words in difference(policy, dataclasses.replace(trial, u=logged), limits)


def test_inputs_of_another_policy_are_reported_and_whether_a_shift_would_fix_them(elsewhere):
    task, plant = elsewhere
    limits = task.machine.limits
    policy = random_policy(task, Slew((4.0,)), gain=3)
    trial = execute(task, plant, policy, 1)
    assert np.std(trial.u) > 0.1 * limits

    def found(u):
        return difference(policy, dataclasses.replace(trial, u=u), limits)

    assert found(trial.u) == ""
    assert found(trial.u + 0.02 * limits) == ""
    late, early = np.roll(trial.u, 1, axis=0), np.roll(trial.u, -1, axis=0)
    assert "fit one line later: if they were logged one line late, move them up" in found(late)
    assert "fit one line earlier" in found(early)
    assert "of u_max (rms), most at sample" in found(-trial.u)
    assert "Check that the machine ran this policy" in found(-trial.u)
    assert found(trial.u + 0.21 * limits * (np.arange(90) == 40)[:, None]).endswith("all digits were logged.")


def test_a_trial_is_added_only_once(tmp_path, elsewhere, capsys):
    task, plant = elsewhere
    run, first, again, other = (tmp_path / name for name in ("run", "first.csv", "again.csv", "other.csv"))
    for file, seed in ((first, 0), (again, 0), (other, 1)):
        trial = explored(task, plant, seed)
        file.write_text(trial_to_csv(trial.q, trial.u, task.machine.sampling_time, ["p", "alpha", "force"]))

    def refused(*files):
        assert main(["tell", str(run), "--task", "cartpole", *map(str, files)]) == 2
        return one_sentence(capsys.readouterr().err)

    assert f"{again} holds the same measurements as {first}: add every trial once" in refused(other, first, again)
    assert not run.exists()
    assert main(["tell", str(run), "--task", "cartpole", str(first)]) == 0
    before = sorted(run.rglob("*"))
    assert f"{again} holds the same measurements as {run / 'trials/000.csv'}: add" in refused(other, again)
    assert sorted(run.rglob("*")) == before
    assert main(["tell", str(run), str(other)]) == 0


class RandomPolicy:
    """Replaces `ask`: instead of learning, it writes a random policy."""

    def __init__(self, patch):
        self.times = 0
        patch.setattr("vfpilco.cli.commands.ask.ask", self)

    def __call__(self, run, task, **_):
        self.times += 1
        learned = random_policy(task, Slew((0.5,)))
        RunFolder(run).add_policy(1, learned)
        return Asked(1, learned, CostBand(1.0, 0.5, 2.0))


def test_ask_can_also_export_the_policy(tmp_path, elsewhere, monkeypatch, capsys):
    task, plant = elsewhere
    run, out = str(tmp_path / "run"), tmp_path / "out"
    vfpilco.tell(run, task, [explored(task, plant, 0)], **SMALL)
    asked = RandomPolicy(monkeypatch)
    assert main(["ask", run, "--to", "c", "--export", str(out / "c")]) == 0
    output = capsys.readouterr().out
    assert f"export    {out / 'c'}: README.md, policy.h, policy.c\n" in output
    assert "vfpilco export" not in output
    assert f"vfpilco tell {run} TRIAL.CSV\n" in output
    assert "slew" in (out / "c/policy.c").read_text()
    assert main(["ask", run, "--to", "numpy", "--export", str(out / "numpy"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["export"], output["files"]) == (str(out / "numpy"), ["README.md", "policy.py"])
    assert '"trial": 1' in (out / "numpy/README.md").read_text()
    assert main(["ask", run, "--json"]) == 0
    assert "export" not in json.loads(capsys.readouterr().out)
    assert asked.times == 3
    assert main(["ask", run]) == 0
    output = capsys.readouterr().out
    assert output.index(f"vfpilco export {run} --to c --out NEW_FOLDER") < output.index(f"vfpilco tell {run} TRIAL.CSV")


def test_an_impossible_export_is_refused_before_anything_is_learned(tmp_path, elsewhere, monkeypatch, capsys):
    task, plant = elsewhere
    run, out = tmp_path / "run", tmp_path / "out"
    vfpilco.tell(run, task, [explored(task, plant, 0)], **SMALL)
    asked = RandomPolicy(monkeypatch)

    def refused(*flags):
        assert main(["ask", str(run), *map(str, flags)]) == 2
        return one_sentence(capsys.readouterr().err)

    assert "rust" in refused("--to", "rust", "--export", out)
    assert "needs both" in refused("--to", "c")
    assert "needs both" in refused("--export", out)
    assert "run is not empty" in refused("--to", "c", "--export", run)
    assert "run.json is a file" in refused("--to", "c", "--export", run / "run.json")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "needs the package onnx: pip install" in refused("--to", "onnx", "--export", out)
    assert asked.times == 0
    assert not out.exists()


def test_ask_refuses_settings(tmp_path, elsewhere, capsys):
    task, plant = elsewhere
    vfpilco.tell(tmp_path / "run", task, [explored(task, plant, 0)], **SMALL)
    for flag, words in (("--basis-functions", ["--basis-functions", "9"]), ("--m-u", ["--m_u=2"])):
        assert main(["ask", str(tmp_path / "run"), *words]) == 2
        expected = "is a setting, and a run keeps those it was started with: give it to the vfpilco tell"
        assert f"{flag} {expected}" in one_sentence(capsys.readouterr().err)


def test_runs_elsewhere_are_listed_with_what_they_wait_for(tmp_path, elsewhere, monkeypatch, capsys):
    task, plant = elsewhere
    run = tmp_path / "runs/cart-pole-on-the-bench"
    vfpilco.tell(run, task, [explored(task, plant, 0)], **SMALL)

    def state():
        assert main(["runs", str(tmp_path), "--json"]) == 0
        return json.loads(capsys.readouterr().out)[0]["state"]

    assert state() == "ready"
    write_arrays(run / "checkpoint.safetensors", {"a": np.zeros(1)}, {})
    assert state() == "interrupted"
    (run / "checkpoint.safetensors").unlink()
    write_arrays(run / "predictions/001.safetensors", {"a": np.zeros(1)}, {})
    assert state() == "waiting"
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["runs", str(tmp_path / "runs")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["cart-pole-on-the-bench", "cartpole", "0", "0", "of", "5", "waiting"]


def test_nothing_can_be_asked_before_a_trial_was_added(tmp_path, elsewhere, capsys):
    task, _ = elsewhere
    with pytest.raises(vfpilco.UserError, match="no trial to add"):
        vfpilco.tell(tmp_path / "run", task, [])
    assert not (tmp_path / "run").exists()
    with pytest.raises(vfpilco.UserError, match="holds no run"):
        vfpilco.ask(tmp_path / "run", task)
    assert main(["ask", str(tmp_path / "run")]) == 2
    assert "holds no run" in capsys.readouterr().err
