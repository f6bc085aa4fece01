import dataclasses

import numpy as np
import pytest

import vfpilco
from vfpilco.cli import main
from vfpilco.execute import connect, execute
from vfpilco.runfolder import RunFolder

SMALL = {"particles": 4, "basis_functions": 5, "steps": 6, "inducing": 16}


@pytest.fixture(scope="module")
def elsewhere():
    """A task without a plant, and the plant that runs elsewhere."""
    task = vfpilco.task("cartpole")
    return dataclasses.replace(task, plant=None), connect(task)


def explored(task, plant, seed, i=0):
    inputs = iter(task.exploring_inputs(seed, i))
    return execute(task, plant, lambda q: next(inputs), seed)


def test_a_run_elsewhere_goes_trial_by_trial(tmp_path, elsewhere):
    task, plant = elsewhere
    run = tmp_path / "run"
    told = vfpilco.tell(run, task, [explored(task, plant, 0)], seed=5, **SMALL)
    assert [row["kind"] for row in told.rows] == ["explore"]
    first = vfpilco.ask(run, task)
    assert first.trial == 1
    again = vfpilco.ask(run, task)
    for name, value in first.policy.params.items():
        np.testing.assert_array_equal(again.policy.params[name], value)
    first.policy.reset()
    tried = execute(task, plant, first.policy, 9)
    told = vfpilco.tell(run, task, [tried, explored(task, plant, 3)])
    assert [row["kind"] for row in told.rows] == ["explore", "policy", "explore"]
    assert told.rows[1]["trial"] == 1
    assert told.rows[1]["predicted_cost"] == first.predicted_cost
    second = vfpilco.ask(run, task)
    assert second.trial == 2
    folder = RunFolder(run)
    folder.check()
    _, about = folder.arrays("models", 2)
    assert about["points"] == 3 * 88
    np.testing.assert_array_equal(folder.trial(1, 2).q, tried.q)


def test_told_trials_stand_in_for_the_exploration_of_a_plant(tmp_path, elsewhere):
    task, plant = elsewhere
    once = dataclasses.replace(task, trials=1)
    vfpilco.tell(tmp_path / "run", once, [explored(task, plant, 0), explored(task, plant, 1)], **SMALL)
    driven = dataclasses.replace(once, plant=lambda: plant)
    result = vfpilco.learn(driven, out=tmp_path / "run", resume=True)
    assert [row["kind"] for row in result.rows] == ["explore", "explore", "policy"]
    assert result.rows[2]["model"]["posterior"]["points"] == 2 * 88


def test_asking_goes_on_beyond_the_trials_of_the_task_and_settings_stay(tmp_path, elsewhere):
    task, plant = elsewhere
    run, short = tmp_path / "run", dataclasses.replace(task, trials=1)
    vfpilco.tell(run, short, [explored(task, plant, 0)], **SMALL)
    vfpilco.ask(run, short, m_u=2)
    assert RunFolder(run).header()["settings"]["m_u"] == 2
    with pytest.raises(vfpilco.UserError, match="learned with m_u 2, got 1"):
        vfpilco.ask(run, short, m_u=1)
    vfpilco.tell(run, short, [explored(task, plant, 1)])
    assert vfpilco.ask(run, short).trial == 2
    assert RunFolder(run).header()["trials"] == 2


def test_nothing_told_nothing_asked(tmp_path, elsewhere, capsys):
    task, _ = elsewhere
    with pytest.raises(vfpilco.UserError, match="no trial to tell"):
        vfpilco.tell(tmp_path / "run", task, [])
    assert not (tmp_path / "run").exists()
    with pytest.raises(vfpilco.UserError, match="holds no run"):
        vfpilco.ask(tmp_path / "run", task)
    assert main(["ask", str(tmp_path / "run")]) == 2
    assert "holds no run" in capsys.readouterr().err
