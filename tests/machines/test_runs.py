"""A run folder is data: what it names is neither executed nor driven."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path

import pytest
from folders import one_sentence

import vfpilco
from vfpilco.cli.main import main
from vfpilco.machines.runs import task_of
from vfpilco.report.source import Source, task_if_any
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.scenes import SCENES, draw
from vfpilco.tasks import known

SAMPLE = Path(__file__).parents[1] / "samples/run-format4"
RIG = """import vfpilco
from pathlib import Path
Path(__file__).with_suffix('.ran').touch()
task = vfpilco.task('cartpole')
"""


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """A copy of a run; this user has run no task file yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


@pytest.fixture
def rig(tmp_path, run) -> Path:
    """A task file that the run names, which leaves a trace when it is executed."""
    file = tmp_path / "rig.py"
    file.write_text(RIG)
    rewrite(run, task_file=str(file))
    return file


def rewrite(run: Path, **changes: object) -> None:
    folder = RunFolder(run)
    folder.write_header(dataclasses.replace(folder.header(), **changes))


def was_executed(rig: Path) -> bool:
    trace = rig.with_suffix(".ran")
    found = trace.exists()
    trace.unlink(missing_ok=True)
    return found


def refused(capsys, *argv: object) -> str:
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    return one_sentence(capsys.readouterr().err)


def test_reports_and_films_do_not_execute_a_task_file(run, rig, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(run, other)
    assert main(["report", str(run)]) == 0
    assert main(["report", str(run), str(other), "--out", str(tmp_path / "both.html")]) == 0
    assert main(["render", str(run), "--out", str(tmp_path / "a.png")]) == 0
    assert main(["export", str(run), "--to", "numpy", "--out", str(tmp_path / "policy")]) == 0
    assert main(["runs", str(tmp_path)]) == 0
    assert not was_executed(rig)
    assert main(["report", str(run), "--task", str(rig)]) == 0
    assert was_executed(rig)


@pytest.mark.parametrize("command", ["evaluate", "ask", "tell"])
def test_a_task_file_that_the_user_has_not_run_is_named_and_not_executed(run, rig, capsys, command):
    more = [run / "trials/000.csv"] if command == "tell" else []
    said = refused(capsys, command, run, *more)
    assert f"the program {rig}, which you have not run before" in said
    assert f"--task {rig}" in said
    assert not was_executed(rig)


def test_a_task_file_that_the_user_has_run_is_run_again_until_it_changes(run, rig, capsys, tmp_path):
    folder = RunFolder(run)
    vfpilco.task(str(rig))
    assert was_executed(rig)
    assert task_of(folder).file == str(rig)
    assert was_executed(rig)
    rig.write_text(RIG + "# changed\n")
    assert "which you have not run before in its present form" in refused(capsys, "evaluate", run)
    assert not was_executed(rig)
    assert task_of(folder, str(rig)).file == str(rig)  # given on the command line
    assert task_of(folder).file == str(rig)
    # The same program elsewhere may read other files beside it.
    moved = Path(shutil.copy(rig, tmp_path / "moved.py"))
    rewrite(run, task_file=str(moved))
    assert "which you have not run before" in refused(capsys, "evaluate", run)


def test_the_program_that_was_checked_is_the_one_that_is_executed(run, rig):
    """Compiled code beside the file is not what was checked."""
    vfpilco.task(str(rig))
    assert not (rig.parent / "__pycache__").exists()
    assert sys.modules["vfpilco_task_rig"].__file__ == str(rig)


@pytest.mark.parametrize("file", ["/nowhere/rig.py", "rig\0.py", "a" * 5000, "/dev/zero", "/etc"])
def test_a_task_file_that_cannot_exist_is_reported(run, capsys, file):
    rewrite(run, task_file=file)
    assert "which does not exist: name its file with --task" in refused(capsys, "evaluate", run)


def test_without_a_state_folder_nothing_is_known(run, rig, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    vfpilco.task(str(rig))
    with pytest.raises(vfpilco.UserError, match="which you have not run before"):
        task_of(RunFolder(run))


def test_the_list_of_files_stays_short(run, tmp_path, monkeypatch):
    monkeypatch.setattr(known, "MOST", 3)
    for i in range(5):
        known.remember(tmp_path / f"{i}.py", b"x")
    assert [known.is_known(tmp_path / f"{i}.py", b"x") for i in range(5)] == [False, False, True, True, True]
    (tmp_path / "state/vfpilco/task-files").write_bytes(b"\xff\0damaged")
    assert not known.is_known(tmp_path / "4.py", b"x")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "gym:Pendulum-v1", "gym:antigravity:X"])
@pytest.mark.parametrize("argv", [["evaluate"], ["learn", "cartpole", "--resume", "--quiet", "--trials", "3", "--out"]])
def test_a_plant_that_only_the_folder_names_is_not_driven(run, capsys, address, argv):
    rewrite(run, plant=address)
    assert f"name it with --plant {address}" in refused(capsys, *argv, run)
    assert "antigravity" not in sys.modules


def test_a_person_may_agree_to_the_plant_of_a_run(run, capsys, monkeypatch):
    rewrite(run, plant="tcp://127.0.0.1:9")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    for answer, words in (("no", "name it with --plant"), ("yes", "cannot be reached")):
        monkeypatch.setattr("builtins.input", lambda *_, answer=answer: answer)
        said = refused_with_question(capsys, run)
        assert words in said


def refused_with_question(capsys, run: Path) -> str:
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 2
    said = capsys.readouterr().err
    assert "Drive it now?" in said
    return said


def test_a_drawing_of_the_users_own_is_shown_without_the_task(run, task):
    folder = RunFolder(run)
    drawn = Source(folder, task)
    for i in range(3):
        folder.save(SCENES, i, draw(task.machine.drawing.scene, drawn.trial(i), drawn.predicted(drawn.results[i])), [])
    rewrite(run, task=dataclasses.replace(folder.header().task, name="mine"), task_file="/nowhere/rig.py")
    assert task_if_any(folder) is None
    for i in range(3):
        expected, found = drawn.scenes(i), Source(folder).scenes(i)
        assert len(found.predicted) == len(expected.predicted) == (0 if i == 0 else 3)
        for one, other in zip((expected.real, *expected.predicted), (found.real, *found.predicted), strict=True):
            assert (one.low, one.high) == (other.low, other.high)
            for before, after in zip(one.shapes, other.shapes, strict=True):
                assert (before.kind, before.role, before.text) == (after.kind, after.role, after.text)
                assert abs(before.points - after.points).max() < 1e-5


def test_the_drawing_of_a_built_in_machine_is_found_by_its_name(run, task):
    rewrite(run, drawing="cartpole", task_file="/nowhere/rig.py")
    source = Source(RunFolder(run))
    assert source.task is None
    assert [shape.kind for shape in source.scenes(1).real.shapes] == [
        shape.kind for shape in Source(RunFolder(run), task).scenes(1).real.shapes
    ]
    rewrite(run, drawing="ur5")  # which has other positions
    assert "label" in {shape.kind for shape in Source(RunFolder(run)).scenes(1).real.shapes}
