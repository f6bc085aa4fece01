"""The lines of results.jsonl and the files of a run form a chain."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from folders import TINY, chained, content, learn, one_sentence

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.files import to_json
from vfpilco.data.watcher import Watcher
from vfpilco.storage import runfolder
from vfpilco.storage.records import FILE, digest
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.start import GaussianStart
from vfpilco.trials.learner import Learner
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def run(tmp_path) -> Path:
    """A run of format 5 with two policies."""
    return chained(SAMPLES / "run-format4", tmp_path / "run")


def lines(run: Path) -> list[bytes]:
    return (run / FILE).read_bytes().splitlines(keepends=True)


def refused(capsys, *argv: object) -> str:
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    return one_sentence(capsys.readouterr().err)


def reported(run: Path, capsys) -> list[str]:
    """What the commands that read a run say about it."""
    resume = ["learn", "cartpole", "--out", run, "--resume", "--quiet"]
    said = [refused(capsys, "report", run), refused(capsys, *resume)]
    capsys.readouterr()
    assert main(["runs", str(run), "--json"]) == 0
    return [*said, json.loads(capsys.readouterr().out)[0]["problem"]]


CHANGES = {
    "the first line removed": lambda old: old[1:],
    "a line removed": lambda old: [old[0], old[2]],
    "two lines removed": lambda old: old[:1],
    "all lines removed": lambda old: [],
    "lines exchanged": lambda old: [old[0], old[2], old[1]],
    "a line repeated": lambda old: [*old, old[2]],
    "the first line repeated": lambda old: [old[0], *old],
    "the end of a line missing": lambda old: [*old[:2], old[2][:-1]],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_list_of_results_is_reported(run, capsys, change):
    (run / FILE).write_bytes(b"".join(CHANGES[change](lines(run))))
    for said in reported(run, capsys):
        assert "results.jsonl" in said
        assert any(word in said for word in ("removed", "repeated", "is missing", "middle of a line")), said


@pytest.mark.parametrize("sample", ["run-format3", "run-format4"])
@pytest.mark.parametrize("change", [name for name in CHANGES if "end of a line" not in name])
def test_the_lines_of_older_formats_are_numbered(tmp_path, capsys, sample, change):
    run = Path(shutil.copytree(SAMPLES / sample, tmp_path / "run"))
    (run / FILE).write_bytes(b"".join(CHANGES[change](lines(run))))
    for said in reported(run, capsys):
        assert "results.jsonl" in said


def with_other_notes(row: dict) -> str:
    row.pop("checksum")
    return to_json({**row, "notes": ["another one"]})


def test_a_line_that_was_rewritten_with_its_checksum_breaks_the_chain(run, capsys):
    first, second, third = lines(run)
    (run / FILE).write_bytes(first + with_other_notes(json.loads(second)).encode() + b"\n" + third)
    for said in reported(run, capsys):
        assert "results.jsonl is damaged in line 3 (it does not continue the lines before it" in said


@pytest.mark.parametrize("kind", ["models", "optimisations", "policies", "predictions"])
def test_exchanged_files_are_reported(run, capsys, kind):
    one, other = (run / kind / f"{i:03d}.safetensors" for i in (1, 2))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    resume = ["learn", "cartpole", "--out", run, "--resume", "--quiet"]
    readers = [resume] if kind == "models" else [resume, ["report", run]]
    for said in [refused(capsys, *argv) for argv in readers]:
        assert re.search(rf"{kind}/00[12].safetensors is not the file that was written", said)
    if kind == "policies":
        for argv in (["evaluate", run], ["export", run, "--to", "numpy", "--out", run / "new"]):
            assert "policies/002.safetensors is not the file that was written" in refused(capsys, *argv)


def test_a_trial_of_another_run_is_reported(run, capsys):
    for end in ("csv", "csv.sha256"):
        shutil.copy(run / f"trials/002.{end}", run / f"trials/001.{end}")
    (run / "trials/001.csv.sha256").write_text(f"{digest((run / 'trials/001.csv').read_bytes())}  001.csv\n")
    for said in reported(run, capsys):
        assert "trials/001.csv is not the file that was written" in said


def test_true_positions_that_were_added_later_are_reported(run, capsys):
    rows = lines(run)
    row = json.loads(rows[2])
    row.pop("checksum")
    del row["files"]["trials/002.true.csv"]
    (run / FILE).write_bytes(b"".join(rows[:2]) + to_json(row).encode() + b"\n")
    for said in reported(run, capsys):
        assert "trials/002.true.csv does not belong to this run" in said


def test_another_last_policy_is_reported(run, capsys):
    shutil.copy(run / "policies/001.safetensors", run / "policy.safetensors")
    said = refused(capsys, "learn", "cartpole", "--out", run, "--resume", "--quiet")
    assert "policy.safetensors is not a copy of policies/002.safetensors" in said
    (run / "policy.safetensors").unlink()
    assert learn(run, "--resume") == 0
    assert (run / "policy.safetensors").read_bytes() == (run / "policies/002.safetensors").read_bytes()


@pytest.mark.parametrize("sample", ["run-format3", "run-format4"])
def test_a_run_of_an_older_format_is_continued_by_the_chain(tmp_path, sample, capsys):
    run = Path(shutil.copytree(SAMPLES / sample, tmp_path / "run"))
    folder = RunFolder(run)
    before, rows = (run / FILE).read_bytes(), folder.results()
    result = dataclasses.replace(rows[-1], trial=3, file="trials/003.csv")
    folder.add_trial(3, folder.trial(2, 2), ["p", "alpha", "force"])
    for kind in ("models", "policies", "predictions", "optimisations"):
        shutil.copy(run / kind / "002.safetensors", run / kind / "003.safetensors")
    folder.add_result(result)
    assert folder.results() == [*rows, result]
    assert (run / FILE).read_bytes().startswith(before)
    folder.check()
    first, second, *rest = lines(run)
    (run / FILE).write_bytes(b"".join([first, with_other_notes(json.loads(second)).encode() + b"\n", *rest]))
    assert "is damaged in line 4 (it does not continue" in refused(capsys, "report", run)


def test_a_resumed_run_of_format_4_ends_in_format_5(tmp_path, task):
    run = Path(shutil.copytree(SAMPLES / "run-format4", tmp_path / "run"))
    before = content(run)
    result = vfpilco.learn(task, out=run, resume=True)
    assert [row.trial for row in result.rows] == [None, 1, 2]
    after = content(run)
    assert {name for name in after if after[name] != before.get(name)} == {"run.json"}
    header = RunFolder(run).header()
    assert (header.format, header.drawing, header.summary) == (5, "cartpole", task.summary)


# -- interruptions between two files -----------------------------------------------------------------------------


def without_the_last_line(run: Path) -> bytes:
    kept = (run / FILE).read_bytes()
    (run / FILE).write_bytes(b"".join(lines(run)[:-1]))
    return kept


def test_notes_survive_an_interruption_before_the_results_line(tmp_path, task):
    """The exploration started elsewhere: a note says so, also if its line was not written before the run was killed."""
    plan = Plan(dataclasses.replace(task, start=GaussianStart((0.0, 1.5), (0.01, 0.01))), Settings())
    folder = RunFolder(tmp_path / "run")
    folder.write_header(plan.header())
    Learner(plan, task.machine.plant(), folder, Watcher()).explore(0)
    kept = without_the_last_line(folder.path)
    assert b"The trial started with" in kept
    Learner(plan, task.machine.plant(), folder, Watcher()).explore(0)
    assert (folder.path / FILE).read_bytes() == kept


@pytest.fixture
def told(tmp_path, task, explore) -> Path:
    """A run with one logged trial, which has true positions."""
    run = tmp_path / "told"
    vfpilco.tell(run, task, [explore(0)], **{name: TINY[name] for name in ("steps", "particles", "policy", "inducing")})
    return run


def test_a_trial_that_was_being_added_is_not_lost(told, task, explore):
    first, second = explore(0), explore(1)
    kept = without_the_last_line(told)
    result = vfpilco.tell(told, task, [second])
    assert [np.array_equal(trial.q, other.q) for trial, other in zip(result.trials, (first, second), strict=True)]
    assert (told / FILE).read_bytes().startswith(kept)


def test_adding_the_same_trials_again_after_an_interruption_adds_them_once(told, task, explore):
    without_the_last_line(told)
    assert len(vfpilco.tell(told, task, [explore(0), explore(1)]).rows) == 2
    with pytest.raises(vfpilco.UserError, match="holds the same measurements"):
        vfpilco.tell(told, task, [explore(1)])


def test_true_positions_of_an_interrupted_execution_are_not_those_of_the_next(told, task, explore, monkeypatch):
    one, other = explore(1), dataclasses.replace(explore(2), true=None, velocity=None)
    folder = RunFolder(told)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runfolder.RunFolder, "write_with_checksum", killed_after(1, killed))
        with pytest.raises(KeyboardInterrupt):
            vfpilco.tell(told, task, [one])
    assert folder.has("trials/001.true.csv")
    assert not folder.has("trials/001.csv")
    vfpilco.tell(told, task, [other])
    assert folder.trial(1, 2).true is None
    assert not folder.has("trials/001.true.csv")


def killed_after(count: int, killed):
    """`RunFolder.write_with_checksum`, interrupted after a number of calls."""
    calls, write = [], runfolder.RunFolder.write_with_checksum

    def method(self, *args: object) -> None:
        calls.append(args)
        (write if len(calls) <= count else killed)(self, *args)

    return method
