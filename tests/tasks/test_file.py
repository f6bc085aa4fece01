"""Tasks in the user's own Python files."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TextIO

import jax
import jax.numpy as jnp
import pytest
from folders import TINY_FLAGS, one_sentence

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import number_tuple
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.file import load
from vfpilco.trials.options import RENAMED, options_of


def refused(capsys, argv) -> str:
    """The error of a command that must fail with one sentence and exit code 2."""
    code = main([str(word) for word in argv])
    output = capsys.readouterr()
    assert code == 2
    return one_sentence(output.err)


def piped(text: str) -> TextIO:
    """The end of a pipe from which a text can be read."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return open(reading)


def test_the_template_is_written_once_and_can_be_learned_without_changes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "my_rig.py"]) == 0
    assert "vfpilco learn my_rig.py" in capsys.readouterr().out
    before = Path("my_rig.py").read_bytes()
    assert "exists already" in refused(capsys, ["new", "my_rig.py"])
    assert Path("my_rig.py").read_bytes() == before
    assert main(["learn", "my_rig.py", "--out", "run", "--json", *TINY_FLAGS]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in output["results"]] == ["explore", "policy"]
    header = RunFolder("run").header()
    assert header.task_file == str(tmp_path / "my_rig.py")
    assert header.settings["optimiser"]["particles"] == 4
    assert header.settings["optimiser"]["dropout"] == 0.25
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    assert "of 2 episodes" in capsys.readouterr().out
    Path("my_rig.py").rename("moved.py")
    assert "does not exist: name its file with --task" in refused(capsys, ["evaluate", "run"])
    assert main(["evaluate", "run", "--episodes", "2", "--task", "moved.py"]) == 0


def test_the_settings_of_a_task_file_are_the_defaults_of_the_command_line(tmp_path, capsys):
    assert main(["new", str(tmp_path / "my_rig.py")]) == 0
    text = (tmp_path / "my_rig.py").read_text()
    assert "settings" not in text
    (tmp_path / "my_rig.py").write_text(text.replace("trials=4,", 'trials=4, settings={"steps": 500},'))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["learn", str(tmp_path / "my_rig.py"), "--help"])
    assert "(default: 500)" in " ".join(capsys.readouterr().out.split())


def test_a_task_file_imports_the_modules_next_to_it(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper_of_rig.py").write_text(f"NAME = {name!r}\n")
        source = "import dataclasses, vfpilco\nfrom helper_of_rig import NAME\n"
        source += "task = dataclasses.replace(vfpilco.task('cartpole'), name=NAME)\n"
        (tmp_path / name / "rig.py").write_text(source)
    assert [vfpilco.task(tmp_path / name / "rig.py").name for name in ("one", "two", "one")] == ["one", "two", "one"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("task = 3\n", "has no task"),
        ("x = 1\n", "has no task"),
        ("\n\nimport nothing_like_this\n", "failed in line 3 (ModuleNotFoundError"),
        ("def task():\n    return 1 / 0\n", "failed in line 2 (ZeroDivisionError"),
        ("task = (\n", "failed in line 1 (SyntaxError"),
    ],
)
def test_a_file_without_a_task_is_reported_with_its_line(tmp_path, capsys, content, words):
    file = tmp_path / "rig.py"
    file.write_text(content)
    assert words in refused(capsys, ["learn", file])


def test_a_file_whose_name_is_not_text_is_used_like_any_other(tmp_path):
    file = tmp_path / os.fsdecode(b"caf\xe9.py")
    template = tmp_path / "rig.py"
    assert main(["new", str(template)]) == 0
    template.rename(file)
    task = load(file)
    assert task.file == str(file)
    assert jax.jit(task.cost)(jnp.zeros((3, 1))).shape == (3,)
    file.write_text("import nothing_of_this_name")
    with pytest.raises(vfpilco.UserError, match=r"failed in line 1 "):
        load(file)


def test_a_missing_file_or_a_wrong_name_is_reported(tmp_path, capsys, monkeypatch):
    assert "vfpilco new nothing.py" in refused(capsys, ["learn", tmp_path / "nothing.py"])
    assert "ends in .py" in refused(capsys, ["new", tmp_path / "rig.txt"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.py").write_text("")
    assert "did you mean the file arm.py?" in refused(capsys, ["learn", "arm"])


def test_numbers_that_are_not_in_a_tuple_are_reported():
    with pytest.raises(vfpilco.UserError, match=r"The noise must be a tuple of numbers.*needs a comma"):
        number_tuple(2e-3, "The noise")  # pyright: ignore


RIG = """import dataclasses
import vfpilco
base = vfpilco.task('cartpole')
class Rig(type(base.machine.plant())):
    def step(self, u):
        self.n = getattr(self, 'n', 0) + 1
        assert self.n < 5, 'cable'
        return super().step(u)
machine = base.machine
machine = dataclasses.replace(machine, plant=lambda: Rig(machine.sampling_time, machine.sensor))
task = dataclasses.replace(base, machine=machine)
"""


def test_a_run_whose_plant_failed_can_be_resumed_with_a_corrected_task(tmp_path, capsys):
    file = tmp_path / "rig.py"
    file.write_text(RIG)
    error = refused(capsys, ["learn", file, "--out", tmp_path / "a", *TINY_FLAGS])
    assert "(AssertionError: cable, rig.py line 7): fix it." in error
    assert "The 5 samples until then are kept" in error
    again = f"learn {file} --out {tmp_path / 'a'} --resume"
    assert again in error
    # Nothing was learned yet: the task may be corrected too.
    file.write_text(RIG.replace("assert self.n < 5, 'cable'", "pass"))
    file.write_text(file.read_text() + "task = dataclasses.replace(task, horizon=80)\n")
    assert main([*again.split(), "--quiet"]) == 0
    assert RunFolder(tmp_path / "a").header().task.horizon == 80
    file.write_text(file.read_text() + "task = dataclasses.replace(task, horizon=70)\n")
    assert "another task.horizon" in refused(capsys, [*again.split(), "--trials", "2"])


def test_wait_asks_before_every_trial(tmp_path, capsys, monkeypatch):
    command = ["learn", "cartpole", "--wait", "--quiet", *TINY_FLAGS, "--out"]
    with piped("\n\n") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main([*command, str(tmp_path / "a")]) == 0
    assert capsys.readouterr().err.count("then press Enter") == 2
    with piped("") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert "There is no terminal to press Enter in" in refused(capsys, [*command, tmp_path / "b"])
    assert not (tmp_path / "b").exists()


@pytest.mark.long
def test_a_run_that_is_older_than_a_setting_is_resumed_without_it(tmp_path):
    run = tmp_path / "a"
    old = ["--jitter", "0", "--gradient-decay", "1", "--noise", "white"]
    assert main(["learn", "furuta", "--out", str(run), "--quiet", *TINY_FLAGS, *old]) == 0
    task, folder = vfpilco.task("furuta"), RunFolder(run)
    header = folder.header()
    flat = options_of(vfpilco.Settings.from_description(header.settings), task.machine)
    names = {new: name for name, new in RENAMED.items()}
    settings = {names.get(name, name): value for name, value in flat.items()}
    for name in ("jitter", "credit", "noise"):
        settings.pop(name, None)
    folder.write_header(dataclasses.replace(header, settings=settings))
    assert main(["learn", "furuta", "--out", str(run), "--resume", "--quiet"]) == 0
    assert folder.header() == header
