"""Faults that engineers met on the bench: late drivers, degrees, exits, trials that end early, milliseconds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from variants import variant

import vfpilco
from vfpilco import Clock, RealTime
from vfpilco.cli.display import outcome
from vfpilco.cli.main import main
from vfpilco.data.watcher import NoteKeeper
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.recordings.trials import faults
from vfpilco.storage.store import Store
from vfpilco.trials.dryrun import dry_run
from vfpilco.trials.execute import execute
from vfpilco.trials.journal import Journal
from vfpilco.trials.learner import Learner
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import RunResult

TINY = {"particles": 4, "policy": vfpilco.RBF(5), "steps": 4, "inducing": 16, "shards": 2}
FILE = """
import dataclasses, sys
import vfpilco
from vfpilco.machines.cartpole.plant import CartPole

base = vfpilco.task("cartpole")

class Rig(CartPole):
    {method}

machine = base.machine
task = dataclasses.replace(
    base, machine=dataclasses.replace(machine, plant=lambda: Rig(machine.sampling_time, machine.sensor))
)
"""


class Notes(vfpilco.Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


class Late(CartPole):
    """Every third sample is two sampling times late."""

    def reset(self, seed):
        self.clock, self.count = Clock(self.sampling_time), 0
        return super().reset(seed)

    def step(self, u):
        self.count += 1
        self.clock.wait()
        time.sleep(2 * self.sampling_time if self.count % 3 == 0 else 0)
        return super().step(u)


def test_a_dry_run_applies_the_rules_that_a_trial_has_to_keep(task):
    late = variant(task, plant=lambda: Late(0.01, task.machine.sensor), sampling_time=0.01, horizon=30)
    late = variant(late, realtime=RealTime(most_missed=3), success=lambda q: False)
    with pytest.raises(vfpilco.PlantError, match="samples came more than 10 ms late"):
        vfpilco.learn(late, trials=1, **TINY)
    tried = dry_run(late)
    assert any("samples came more than 10 ms late" in problem for problem in tried.problems)
    assert not any("as expected" in sentence for sentence in tried.sentences())


@pytest.mark.parametrize("options", [["--dry-run"], ["--trials", "1", "--quiet"]], ids=["dry run", "learn"])
@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("def step(self, u): sys.exit(0)", 2),
        ("def reset(self, seed): sys.exit(0)", 2),
        ("def __init__(self, *args): sys.exit(0)", 2),
        ("def stop(self): sys.exit(0)", 3),
    ],
    ids=["step", "reset", "constructor", "stop"],
)
def test_a_driver_that_exits_does_not_end_the_program_as_if_all_were_well(tmp_path, method, code, options, capsys):
    file = tmp_path / "rig.py"
    file.write_text(FILE.format(method=method))
    assert main(["learn", str(file), "--out", str(tmp_path / "run"), *options]) == code
    said = capsys.readouterr().err.splitlines()
    assert "SystemExit" in " ".join(said)
    assert (said[-1] == "STOP THE MACHINE BY HAND") == (code == 3)


def test_an_angle_in_degrees_is_noticed_after_the_exploration(task):
    class Degrees(CartPole):
        def measured(self, q):
            return np.array([q[0], np.degrees(q[1])])

        def reset(self, seed):
            return self.measured(super().reset(seed))

        def step(self, u):
            return self.measured(super().step(u))

    wrong = variant(task, plant=lambda: Degrees(task.machine.sampling_time, task.machine.sensor))
    watch, plan = Notes(), Plan(wrong, vfpilco.Settings(), 0, 1)
    learner = Learner(plan, wrong.machine.plant(), Store(), watch)
    learner.explore(0)
    assert "CHECK THE MEASUREMENTS: alpha jumps too far for radians" in learner.result.rows[0].notes[0]
    assert "numpy.radians" in watch.notes[0]


@pytest.mark.parametrize("name", ["cartpole", "furuta", "ballplate"])
def test_correct_machines_are_not_accused(name):
    task = vfpilco.task(name)
    for seed in range(3):
        trial = execute(task, vfpilco.task(name).machine.plant(), task.explorer(seed, 0), seed)
        assert faults(trial, task) == []


def test_the_success_of_a_trial_that_ended_early_is_said_to_be_untested(task):
    trial = execute(task, task.machine.plant(), task.explorer(0, 0), 0)
    watch = Notes()
    journal = Journal(RunResult(Plan(task, vfpilco.Settings(), 0, 1)), Store(), NoteKeeper(watch))
    journal.record(trial.first(50), "policy", 1)
    row = journal.result.rows[0]
    assert row.notes == watch.notes
    assert row.notes == ["Trial 1 ended early, after 1.67 s: its success was not tested and counts as none."]
    assert outcome(row, "not yet") == "[dim]success not tested[/]"
    journal.record(trial, "policy", 2)
    assert journal.result.rows[1].notes == []
    assert outcome(journal.result.rows[1], "not yet") == "[dim]not yet[/]"


@pytest.mark.parametrize(("sampling_time", "seconds"), [(5.0, "0.005"), (33.0, "0.033")])
def test_a_sampling_time_in_milliseconds_is_explained(task, sampling_time, seconds):
    with pytest.raises(vfpilco.UserError, match="milliseconds") as error:
        variant(task, sampling_time=sampling_time).check()
    assert f"{seconds} if" in str(error.value)
    assert "seconds" in str(error.value)
