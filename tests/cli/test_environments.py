"""Environments that programs meet in containers, pipes and old file systems."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from folders import SIZE_FLAGS, TINY_FLAGS, one_sentence

from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.common.files import new_folder, write_file
from vfpilco.storage import lock
from vfpilco.studies.engines import Attendance

SAMPLE = Path(__file__).parents[1] / "samples/run-format4"
PROGRAM = [sys.executable, "-m", "vfpilco"]


@pytest.fixture
def run(tmp_path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


NOBODY = """
import os, pwd, sys

def missing(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")

os.getuid, pwd.getpwuid = lambda: 54321, missing
from vfpilco.cli.main import main
sys.exit(main(["runs", sys.argv[1]]) or main(["report", sys.argv[1]]))
"""


def test_a_user_without_a_home_and_an_entry_in_the_password_file_can_use_commands(run):
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run([sys.executable, "-c", NOBODY, str(run)], env=kept, cwd="/", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "report.html").exists()


def test_a_terminal_without_the_characters_gets_others(run):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([*PROGRAM, "evaluate", str(run), "--episodes", "1"], env=env, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b" +- " in done.stdout


def test_closed_standard_streams_and_names_that_are_not_text_are_no_problem(run, tmp_path):
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    run.rename(strange)
    done = subprocess.run([*PROGRAM, "report", os.fsencode(strange)], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (strange / "report.html").exists()
    command = " ".join(PROGRAM) + f" runs {tmp_path} >&- 2>&- <&-"
    assert subprocess.run(["sh", "-c", command]).returncode == 0


@pytest.fixture
def without_flock(monkeypatch) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", missing)


def test_a_copied_folder_is_not_in_use_without_locks(tmp_path, without_flock):
    (tmp_path / "a").mkdir()
    with lock.hold(tmp_path / "a"):
        assert lock.is_held(tmp_path / "a")
        with (
            pytest.raises(UserError, match=r"in use by process \d+ on .*remove .*\.lock"),
            lock.hold(tmp_path / "a"),
        ):
            pass
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        assert not lock.is_held(tmp_path / "b")
        with lock.hold(tmp_path / "b"):
            pass
    assert not lock.is_held(tmp_path / "a")


def test_a_lock_of_a_process_that_was_killed_is_not_held(tmp_path, without_flock):
    (tmp_path / ".lock").touch()
    held = {"pid": 2**22 + 1, "host": lock.socket.gethostname(), "folder": lock._identity(tmp_path)}
    (tmp_path / ".running.json").write_text(json.dumps(held))
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path):
    left, other = tmp_path / f".c.{2**22 + 1}.tmp", tmp_path / ".c.1.tmp"  # process 1 is always running
    for folder in (left, other):
        folder.mkdir()
        (folder / "policy.c").touch()
    with new_folder(tmp_path / "c") as folder:
        (folder / "policy.c").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".c.1.tmp", "c"]


def test_what_a_killed_write_left_is_removed_by_the_next(tmp_path):
    left, other = tmp_path / f".a.html.{2**22 + 1}.tmp", tmp_path / ".a.html.1.tmp"  # process 1 is always running
    for file in (left, other):
        file.touch()
    write_file(tmp_path / "a.html", "page")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.html.1.tmp", "a.html"]


WAITING = """
import os, signal, sys, time
from vfpilco.studies import worker
worker.stop_on_signals()
worker.stop_with_parent()
open(sys.argv[1], "w").write(str(os.getpid()))
try:
    time.sleep(600)
except KeyboardInterrupt:
    open(sys.argv[1] + ".stopped", "w").close()
"""
PARENT = """
import sys, threading
from vfpilco.studies.engines import Attendance
Attendance().execute([sys.executable, "-c", sys.argv[1], sys.argv[2]])
"""


def appears(path: Path, seconds: float = 300) -> bool:
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.exists()


def test_workers_stop_when_the_study_is_killed(tmp_path):
    mark = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, WAITING, str(mark)])
    try:
        assert appears(mark)
    finally:
        parent.kill()
        parent.wait()
    assert appears(tmp_path / "pid.stopped")


def test_workers_stop_when_the_study_ends(tmp_path):
    attendance, mark = Attendance(), tmp_path / "pid"
    thread = threading.Thread(target=attendance.execute, args=([sys.executable, "-c", WAITING, str(mark)],))
    thread.start()
    try:
        assert appears(mark)
    finally:
        attendance.end()
        thread.join()
    assert (tmp_path / "pid.stopped").exists()


def test_names_never_reach_the_terminal_as_commands(tmp_path, capsys):
    place = tmp_path / "a\x1b[31m[red]b"
    run, log, told = shutil.copytree(SAMPLE, place / "run"), place / "log\x1b[31m.csv", place / "told"
    shutil.copy(SAMPLE / "trials/000.csv", log)
    (place / "named.csv").write_bytes(log.read_bytes().replace(b"alpha", b"[/] $alpha{$\x1b[31m"))
    for argv in (
        ["report", run, "--figures", "png"],
        ["report", run, run, "--out", place / "both.html"],
        ["render", run, "--out", place / "c.png"],
        ["evaluate", run, "--episodes", "1"],
        ["export", run, "--to", "numpy", "--out", place / "d"],
        ["inspect", log, "--task", "cartpole", "--out", place / "e.png"],
        ["inspect", place / "named.csv", "--out", place / "g.png"],
        ["tell", told, log, "--task", "cartpole", "--steps", "12", *SIZE_FLAGS],
        ["ask", told, "--to", "numpy", "--export", place / "f"],
        ["new", place / "rig.py"],
        ["learn", "cartpole", "--out", place / "new", *TINY_FLAGS],
        ["runs", place],
    ):
        code, said = main([str(word) for word in argv]), capsys.readouterr()
        assert (code, "\x1b" in said.out + said.err) == (0, False), (argv[0], said)
        assert argv[0] == "runs" or "\\x1b[31m" in said.out + said.err, (argv[0], said)


def test_the_names_of_damaged_runs_never_reach_the_terminal_as_commands(tmp_path, capsys):
    strange = Path(shutil.copytree(SAMPLE, tmp_path / "a\x1b[2Jb"))
    (strange / "run.json").write_text("{}\n")
    assert main(["runs", str(tmp_path)]) == 0
    assert main(["report", str(strange)]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[2J" in one_sentence(said.err)
