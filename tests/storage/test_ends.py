"""Why a trial ended early is kept with it, however the run was interrupted."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from folders import GIVEN
from rich.console import Console
from variants import variant

import vfpilco
from vfpilco.cli.display import Episodes
from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import Watcher
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.report.sentences import of_trials
from vfpilco.report.source import Source
from vfpilco.storage.records import FILE
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.trialfile import read_log, read_trial, write_log
from vfpilco.trials.learner import Learner
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

COLUMNS = ["p", "alpha", "force"]
WHY = "the ball is in the hole"


class Hole(CartPole):
    """Ends its trial after 13 samples, because the goal was reached."""

    samples, truncated = 0, False

    def reset(self, seed):
        self.samples = 0
        return super().reset(seed)

    def step(self, u):
        self.samples += 1
        return super().step(u)

    @property
    def terminated(self):
        return self.samples == 13

    @property
    def ended(self):
        return WHY if self.terminated else ""


@pytest.fixture
def hole(task) -> vfpilco.Task:
    machine = task.machine
    return variant(task, plant=lambda: Hole(machine.sampling_time, machine.sensor), end_is_success=True)


@pytest.fixture
def folder(tmp_path, hole) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.write_header(Plan(hole, Settings().replace(**GIVEN)).header())
    return folder


def explored(folder: RunFolder, hole: vfpilco.Task) -> bytes:
    """results.jsonl after the exploration, which is executed unless it is in the folder."""
    Learner(Plan(hole, Settings().replace(**GIVEN)), hole.machine.plant(), folder, Watcher()).explore(0)
    return (folder.path / FILE).read_bytes()


def test_the_result_says_why_a_trial_ended(folder, hole):
    explored(folder, hole)
    (row,) = folder.results()
    assert (row.success, row.ended, row.notes) == (True, WHY, [])
    assert row.ended_s == pytest.approx(13 / 30)
    assert of_trials(Source(folder))[0].endswith(f"It ended early, after 0.433 s: {WHY}.")


def test_a_success_survives_a_crash_between_the_trial_and_its_line(folder, hole):
    before = explored(folder, hole)
    (folder.path / FILE).unlink()
    assert explored(folder, hole) == before


def test_a_success_survives_a_crash_between_the_log_and_the_trial(folder, hole, monkeypatch):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "add_trial", killed)
        with pytest.raises(KeyboardInterrupt):
            explored(folder, hole)
    assert sorted(path.name for path in (folder.path / "trials").iterdir()) == ["000.partial.csv"]
    explored(folder, hole)
    (row,) = folder.results()
    assert (row.success, row.ended, row.notes) == (True, WHY, [])


def test_a_success_is_kept_if_the_plant_cannot_be_stopped(folder, hole):
    class Running(Hole):
        def stop(self):
            raise RuntimeError("port closed")

    machine = hole.machine
    running = variant(hole, plant=lambda: Running(machine.sampling_time, machine.sensor))
    with pytest.raises(vfpilco.NotStopped):
        explored(folder, running)
    explored(folder, hole)
    assert folder.results()[0].success


def test_a_finished_trial_keeps_its_end_in_a_log_and_in_its_file(tmp_path, folder):
    trial = Trial(np.zeros((3, 2)), np.zeros((2, 1)), 0.1, ended="it was\x1b[31m\n there", reached=True)
    write_log(tmp_path / "log.csv", trial, COLUMNS)
    folder.add_trial(0, trial, COLUMNS)
    for read in (read_log(tmp_path / "log.csv", 2, 1, 0.1), folder.trial(0, 2)):
        assert (read.ended, read.reached, read.steps) == ("it was\\x1b[31m\\n there", True, 2)
    rows = np.genfromtxt(folder.path / "trials/000.csv", delimiter=",", names=True)
    assert rows["alpha"].shape == (3,)


@pytest.mark.parametrize("end", ['["a"]', '{"ended": 1, "reached": true}', '{"ended": "a"}', "{", '"\\u001b"'])
def test_a_damaged_end_is_refused(tmp_path, end):
    file = tmp_path / "000.csv"
    file.write_text(f"t,p,force\n0,0,0\n1,0,\n# ended: {end}\n")
    with pytest.raises(UserError, match="is not a trial of vfpilco or is damaged"):
        read_trial(file, 1)


def test_an_evaluation_says_why_episodes_ended(hole):
    text = io.StringIO()
    policy = RunFolder(Path(__file__).parents[1] / "samples/run-format4").policy()
    found = vfpilco.evaluate(hole, policy, episodes=2, watch=Episodes(Console(file=text, width=100)))
    assert [(result.ended, result.success) for result in found.results] == [(WHY, True)] * 2
    assert found.ends == {WHY: 2}
    assert text.getvalue().count(WHY) == 2
    assert [trial.early(90)["ended"] for trial in found.trials] == [WHY] * 2
    assert found.trials[0].early(13) == {}
