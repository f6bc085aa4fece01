"""Runs that are killed or stopped, in a separate process, and resumed."""

from __future__ import annotations

import itertools
import random
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from folders import SIZE_FLAGS, content, learn, one_sentence
from resuming import listed_runs

SMALL = ["--trials", "2", "--steps", "60", "--seed", "4", *SIZE_FLAGS]
DRIVER = """
import sys, time
from vfpilco import __main__
from vfpilco.storage import checkpoints
from vfpilco.machines.cartpole.plant import CartPole

checkpoints.EVERY, checkpoints.MOST_SHARE = 0.05, 1e9
record, pause = sys.argv.pop(1), float(sys.argv.pop(1))
reset, step = CartPole.reset, CartPole.step

def noted_reset(self, seed):
    with open(record, "a") as file:
        file.write(f"{seed}\\n")
    return reset(self, seed)

def slow_step(self, u):
    time.sleep(pause)
    return step(self, u)

CartPole.reset, CartPole.step = noted_reset, slow_step
sys.exit(__main__.main())
"""


COLLECTING = """
import gc, os, signal

def stop(phase, info):
    if os.path.exists({file!r}):
        gc.callbacks.remove(stop)
        os.kill(os.getpid(), signal.{name})

gc.callbacks.append(stop)
"""

SWALLOWING = """
import os, signal
import {module}

work = {module}.{name}

def swallowed(*args, **options):
    {module}.{name} = work
    try:
        os.kill(os.getpid(), signal.{signal})
    except KeyboardInterrupt:
        pass
    return work(*args, **options)

{module}.{name} = swallowed
"""


class Program:
    """The program on a small run, in a separate process, with many checkpoints and a record of executions."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, folder.with_name(f"{folder.name}.record")

    def start(self, pause: float = 0.0, before: str = "") -> subprocess.Popen:
        command = [sys.executable, "-c", before + DRIVER, str(self.record), str(pause)]
        command += ["learn", "cartpole", "--out", str(self.folder), "--quiet", "--resume", *SMALL]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def finish(self) -> None:
        """Learn to the end."""
        process = self.start()
        try:
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
        assert (process.returncode, errors) == (0, "")

    def has(self, name: str, lines: int = 0) -> bool:
        try:
            return (self.folder / name).read_bytes().count(b"\n") >= lines
        except FileNotFoundError:
            return False

    def stop_at(self, moment, number: int, pause: float = 0.0, delay: float = 0.0) -> tuple[int, str]:
        """Start, send a signal at `moment` (a condition, or a time); returns exit code and standard error."""
        process = self.start(pause=pause)
        begun = time.monotonic()
        try:
            while process.poll() is None:
                if moment() if callable(moment) else time.monotonic() > begun + moment:
                    time.sleep(delay)
                    process.send_signal(number)
                    break
                time.sleep(0.005)
                assert time.monotonic() < begun + 120
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, errors

    def finished(self, seeds: list[str]) -> dict[str, tuple[bytes, int, int]]:
        """Every finished execution: its content, when it was written, and how often it was started."""
        files, started = (self.folder / "trials").glob("[0-9][0-9][0-9].csv"), Counter(self.executions())
        return {f.name: (f.read_bytes(), f.stat().st_mtime_ns, started[seeds[int(f.stem)]]) for f in files}

    def executions(self) -> list[str]:
        """The seed of every execution that was started."""
        return self.record.read_text().split() if self.record.exists() else []


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A run that was not interrupted."""
    program = Program(tmp_path_factory.mktemp("uninterrupted") / "run")
    program.finish()
    assert len(program.executions()) == len(set(program.executions())) == 3
    return SimpleNamespace(content=content(program.folder), seeds=program.executions())


@pytest.fixture(scope="module")
def seconds(uninterrupted, tmp_path_factory):
    """How long an uninterrupted run takes once everything is compiled."""
    program = Program(tmp_path_factory.mktemp("again") / "run")
    begun = time.monotonic()
    program.finish()
    assert content(program.folder) == uninterrupted.content
    return time.monotonic() - begun


def check_killed(program: Program, moments, uninterrupted, rng: random.Random, pause: float = 0.0) -> None:
    """Kill a run at several moments and finish it: nothing is lost, repeated, changed or left over."""
    finished = []
    for moment in moments:
        code, _ = program.stop_at(moment, signal.SIGKILL, pause, rng.uniform(0, 0.1) if callable(moment) else 0.0)
        assert code == -signal.SIGKILL or not callable(moment)
        finished.append(program.finished(uninterrupted.seeds))
    program.finish()
    check_same_end(program, uninterrupted, len(moments))
    now = program.finished(uninterrupted.seeds)
    for then in finished:
        assert {name: now[name] for name in then} == then


def check_same_end(program: Program, uninterrupted, stops: int) -> None:
    assert content(program.folder) == uninterrupted.content
    executions = program.executions()
    assert [seed for seed, _ in itertools.groupby(executions)] == uninterrupted.seeds
    assert len(executions) <= len(uninterrupted.seeds) + stops


def check_kept(program: Program, index: int, least: int) -> None:
    """The log of an interrupted execution is kept, and is the beginning of the repeated one."""
    partial = (program.folder / f"trials/{index:03d}.partial.csv").read_text().splitlines()
    complete = (program.folder / f"trials/{index:03d}.csv").read_text().splitlines()
    assert least <= len(partial) < len(complete)
    assert [line.split(",")[:4] for line in partial] == [line.split(",") for line in complete[: len(partial)]]


# -- kills -------------------------------------------------------------------------------------------------------


def test_a_run_that_is_killed_repeatedly_ends_as_if_it_had_not_been(uninterrupted, tmp_path):
    program = Program(tmp_path / "run")
    moments = [
        lambda: program.has("trials/000.partial.csv", 20),
        lambda: program.has("checkpoint.safetensors"),
        lambda: program.has("policies/001.safetensors"),
        lambda: program.has("trials/002.partial.csv", 40),
    ]
    check_killed(program, moments, uninterrupted, random.Random(1), pause=0.02)
    check_kept(program, 0, 20)
    check_kept(program, 2, 40)


@pytest.mark.long
@pytest.mark.parametrize("number", range(30))
def test_a_kill_at_any_moment_changes_nothing(uninterrupted, seconds, tmp_path, number):
    rng = random.Random(number)
    check_killed(Program(tmp_path / "run"), [seconds * (number + rng.random()) / 30], uninterrupted, rng)


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_several_kills_with_a_slow_plant_change_nothing(uninterrupted, seconds, tmp_path, number):
    rng = random.Random(100 + number)
    moments = [(seconds + 9) * rng.random() for _ in range(4)]
    check_killed(Program(tmp_path / "run"), moments, uninterrupted, rng, pause=0.03)


# -- signals ------------------------------------------------------------------------------------------------------

STOPPING = (signal.SIGINT, signal.SIGTERM)
LOADING = {"_multiarray_umath": signal.SIGINT, "libjax_common": signal.SIGTERM, "_ckdtree": signal.SIGINT}
"""Libraries of NumPy, JAX and SciPy that are loaded while the program starts, each with a signal."""


def or_long(case: tuple, chosen: bool):
    """A case that `make test` tries, or only `make test-long`: every one starts a program."""
    return pytest.param(*case, marks=[] if chosen else pytest.mark.long)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see what is loaded")
@pytest.mark.parametrize(
    ("part", "number"),
    [or_long((part, number), number == first) for part, first in LOADING.items() for number in STOPPING],
)
def test_a_program_that_is_stopped_while_it_starts_prints_one_line(tmp_path, part, number):
    command = [sys.executable, "-m", "vfpilco", "learn", "cartpole", "--out", str(tmp_path / "run"), "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    try:
        while part not in maps.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    one_sentence(errors)
    assert process.returncode == 130
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_stopped_prints_how_to_resume_it(uninterrupted, tmp_path):
    program = Program(tmp_path / "a run")
    moments = [
        (lambda: program.has("checkpoint.safetensors"), signal.SIGINT),
        (lambda: program.has("trials/002.partial.csv", 20), signal.SIGTERM),
    ]
    for moment, number in moments:
        code, errors = program.stop_at(moment, number, pause=0.02)
        assert code == 130, (number, errors)
        advice = shlex.split(one_sentence(errors).split("resume with: ")[1])
        assert advice[advice.index("learn") :] == ["learn", "cartpole", "--out", str(program.folder), "--resume"]
    program.finish()
    check_same_end(program, uninterrupted, len(moments))
    check_kept(program, 2, 20)


def check_stopped(program: Program, before: str) -> None:
    """A program that stops itself with the code `before` prints how to resume."""
    process = program.start(before=before)
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "--resume" in one_sentence(errors)


@pytest.mark.parametrize("name", [or_long(("SIGINT",), False), "SIGTERM"])
def test_a_stop_during_garbage_collection_is_not_lost(tmp_path, name):
    program = Program(tmp_path / "run")
    check_stopped(program, COLLECTING.format(file=str(program.folder / "run.json"), name=name))


SWALLOWED = {
    "vfpilco.rollout.optimise:Optimisation._finite_chunk": "SIGINT",
    "vfpilco.trials.execute:unwrap": "SIGTERM",
}
"""Functions in which a signal is swallowed, each with a signal."""


@pytest.mark.parametrize(
    ("work", "sort"),
    [or_long((work, number.name), number.name == first) for work, first in SWALLOWED.items() for number in STOPPING],
)
def test_a_stop_that_a_library_swallows_is_not_lost(tmp_path, sort, work):
    program = Program(tmp_path / "run")
    module, name = work.split(":")
    check_stopped(program, SWALLOWING.format(module=module, name=name, signal=sort))
    assert not program.has("trials/002.csv")


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
def test_a_stop_at_any_moment_prints_one_line(uninterrupted, seconds, tmp_path, number):
    program, rng = Program(tmp_path / "run"), random.Random(number)
    sort = rng.choice([signal.SIGINT, signal.SIGTERM])
    code, errors = program.stop_at(lambda: program.folder.exists(), sort, delay=rng.uniform(0, seconds - 1))
    if code:
        assert code == 130
        assert "--resume" in one_sentence(errors) or program.has("picture.png")
    else:
        assert errors == ""
    program.finish()
    check_same_end(program, uninterrupted, 1)


# -- two learners ------------------------------------------------------------------------------------------------


def test_a_second_learner_is_refused_until_the_first_is_gone(tmp_path, capsys):
    program = Program(tmp_path / "run")
    process = program.start(pause=0.2)
    try:
        while not program.has("trials/000.partial.csv"):
            assert process.poll() is None
            time.sleep(0.01)
        assert learn(program.folder, "--resume") == 2
        assert f"in use by process {process.pid} on " in one_sentence(capsys.readouterr().err)
        assert [run["state"] for run in listed_runs(tmp_path, capsys)] == ["running"]
    finally:
        process.kill()
        process.communicate()
    assert [run["state"] for run in listed_runs(tmp_path, capsys)] == ["interrupted"]
    assert learn(program.folder, "--resume", "--seed", "5") == 2
    assert "was learned with seed 4, got 5" in one_sentence(capsys.readouterr().err)
