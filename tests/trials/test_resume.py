from __future__ import annotations

import itertools
import json
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from folders import TINY_FLAGS, Disk, content, hurried, learn, no_space, one_sentence
from vfpilco.cli.main import main
from vfpilco.machines.cartpole.plant import CartPole

SMALL = [
    "--trials",
    "2",
    "--steps",
    "60",
    "--particles",
    "2",
    "--basis-functions",
    "10",
    "--inducing",
    "16",
    "--seed",
    "4",
]
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


TIDYING = """
import gc, os, signal

def stop(phase, info):
    if os.path.exists({file!r}):
        gc.callbacks.remove(stop)
        os.kill(os.getpid(), signal.{name})

gc.callbacks.append(stop)
"""

DROPPING = """
import os, signal
import {module}

work = {module}.{name}

def dropped(*args, **options):
    {module}.{name} = work
    try:
        os.kill(os.getpid(), signal.{signal})
    except KeyboardInterrupt:
        pass
    return work(*args, **options)

{module}.{name} = dropped
"""


class Program:
    """The real program on a small run, in a process of its own, with many checkpoints and a record of executions."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, folder.with_name(f"{folder.name}.record")

    def start(self, pause: float = 0.0, before: str = "") -> subprocess.Popen:
        command = [sys.executable, "-c", before + DRIVER, str(self.record), str(pause)]
        command += ["learn", "cartpole", "--out", str(self.folder), "--quiet", "--resume", *SMALL]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def finish(self) -> None:
        """Learn to the end."""
        process = self.start()
        _, said = process.communicate(timeout=300)
        assert (process.returncode, said) == (0, "")

    def has(self, name: str, lines: int = 0) -> bool:
        try:
            return (self.folder / name).read_bytes().count(b"\n") >= lines
        except FileNotFoundError:
            return False

    def stop_at(self, moment, number: int, pause: float = 0.0, delay: float = 0.0) -> tuple[int, str]:
        """Start, send a signal after the first `moment` (a test, or a time); exit code and what was said."""
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
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, said

    def finished(self, seeds: list[str]) -> dict[str, tuple[bytes, int, int]]:
        """Every finished execution: its content, when it was written, and how often it was begun."""
        files, begun = (self.folder / "trials").glob("[0-9][0-9][0-9].csv"), Counter(self.executions())
        return {f.name: (f.read_bytes(), f.stat().st_mtime_ns, begun[seeds[int(f.stem)]]) for f in files}

    def executions(self) -> list[str]:
        """The seed of every execution that was begun."""
        return self.record.read_text().split() if self.record.exists() else []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run that nothing happened to."""
    program = Program(tmp_path_factory.mktemp("undisturbed") / "run")
    program.finish()
    assert len(program.executions()) == len(set(program.executions())) == 3
    return SimpleNamespace(content=content(program.folder), seeds=program.executions())


@pytest.fixture(scope="module")
def seconds(undisturbed, tmp_path_factory):
    """How long a run takes that nothing happens to, once everything is compiled."""
    program = Program(tmp_path_factory.mktemp("again") / "run")
    begun = time.monotonic()
    program.finish()
    assert content(program.folder) == undisturbed.content
    return time.monotonic() - begun


def check_killed(program: Program, moments, undisturbed, rng: random.Random, pause: float = 0.0) -> None:
    """Kill a run at one moment after the other, and finish it: nothing is lost, repeated, changed or left over."""
    finished = []
    for moment in moments:
        code, _ = program.stop_at(moment, signal.SIGKILL, pause, rng.uniform(0, 0.1) if callable(moment) else 0.0)
        assert code == -signal.SIGKILL or not callable(moment)
        finished.append(program.finished(undisturbed.seeds))
    program.finish()
    check_ended_the_same(program, undisturbed, len(moments))
    now = program.finished(undisturbed.seeds)
    for then in finished:
        assert {name: now[name] for name in then} == then


def check_ended_the_same(program: Program, undisturbed, stops: int) -> None:
    assert content(program.folder) == undisturbed.content
    executions = program.executions()
    assert [seed for seed, _ in itertools.groupby(executions)] == undisturbed.seeds
    assert len(executions) <= len(undisturbed.seeds) + stops


def check_kept(program: Program, index: int, least: int) -> None:
    """An execution that was cut off is kept as far as it went, and is the beginning of the one that was run again."""
    partial = (program.folder / f"trials/{index:03d}.partial.csv").read_text().splitlines()
    whole = (program.folder / f"trials/{index:03d}.csv").read_text().splitlines()
    assert least <= len(partial) < len(whole)
    assert [line.split(",")[:4] for line in partial] == [line.split(",") for line in whole[: len(partial)]]


# -- kills -------------------------------------------------------------------------------------------------------


def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(undisturbed, tmp_path):
    program = Program(tmp_path / "run")
    moments = [
        lambda: program.has("trials/000.partial.csv", 20),
        lambda: program.has("trials/000.csv"),
        lambda: program.has("checkpoint.safetensors"),
        lambda: program.has("policies/001.safetensors"),
        lambda: program.has("trials/002.partial.csv", 40),
    ]
    check_killed(program, moments, undisturbed, random.Random(1), pause=0.02)
    check_kept(program, 0, 20)
    check_kept(program, 2, 40)


@pytest.mark.long
@pytest.mark.parametrize("number", range(30))
def test_a_kill_at_any_moment_changes_nothing(undisturbed, seconds, tmp_path, number):
    rng = random.Random(number)
    check_killed(Program(tmp_path / "run"), [seconds * (number + rng.random()) / 30], undisturbed, rng)


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_kills_at_any_moments_with_a_slow_plant_change_nothing(undisturbed, seconds, tmp_path, number):
    rng = random.Random(100 + number)
    moments = [(seconds + 9) * rng.random() for _ in range(4)]
    check_killed(Program(tmp_path / "run"), moments, undisturbed, rng, pause=0.03)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------

LOADING = ["_multiarray_umath", "libjax_common", "_ckdtree"]
"""Parts of NumPy, JAX and SciPy that are in memory while the program is being loaded."""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see what is loaded")
@pytest.mark.parametrize("part", LOADING)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_a_program_stopped_while_it_is_being_loaded_says_one_line(tmp_path, part, number):
    command = [sys.executable, "-m", "vfpilco", "learn", "cartpole", "--out", str(tmp_path / "run"), "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while part not in maps.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    one_sentence(said)
    assert process.returncode == 130
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_stopped_says_how_to_go_on(undisturbed, tmp_path):
    program = Program(tmp_path / "a run")
    moments = [
        (lambda: program.has("trials/000.csv"), signal.SIGTERM),
        (lambda: program.has("checkpoint.safetensors"), signal.SIGINT),
        (lambda: program.has("trials/002.partial.csv", 20), signal.SIGTERM),
    ]
    for moment, number in moments:
        code, said = program.stop_at(moment, number, pause=0.02)
        assert code == 130, (number, said)
        advice = shlex.split(one_sentence(said).split("resume with: ")[1])
        assert advice[advice.index("learn") :] == ["learn", "cartpole", "--out", str(program.folder), "--resume"]
    program.finish()
    check_ended_the_same(program, undisturbed, len(moments))
    check_kept(program, 2, 20)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stop_while_memory_is_tidied_up_is_not_lost(tmp_path, name):
    program = Program(tmp_path / "run")
    process = program.start(before=TIDYING.format(file=str(program.folder / "run.json"), name=name))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in one_sentence(said)


@pytest.mark.parametrize("sort", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("work", ["vfpilco.optimise._finite_chunk", "vfpilco.execute.unwrap"])
def test_a_stop_that_a_library_drops_is_not_lost(tmp_path, sort, work):
    program = Program(tmp_path / "run")
    module, name = work.rsplit(".", 1)
    process = program.start(before=DROPPING.format(module=module, name=name, signal=sort))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in one_sentence(said)
    assert not program.has("trials/002.csv")


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
def test_a_stop_at_any_moment_says_one_line(undisturbed, seconds, tmp_path, number):
    program, rng = Program(tmp_path / "run"), random.Random(number)
    sort = rng.choice([signal.SIGINT, signal.SIGTERM])
    code, said = program.stop_at(lambda: program.folder.exists(), sort, delay=rng.uniform(0, seconds - 1))
    if code:
        assert code == 130
        assert "--resume" in one_sentence(said) or program.has("picture.png")
    else:
        assert said == ""
    program.finish()
    check_ended_the_same(program, undisturbed, 1)


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
        assert [run["state"] for run in listed(tmp_path, capsys)] == ["running"]
    finally:
        process.kill()
        process.communicate()
    assert [run["state"] for run in listed(tmp_path, capsys)] == ["interrupted"]
    assert learn(program.folder, "--resume", "--seed", "5") == 2
    assert "was learned with seed 4, got 5" in one_sentence(capsys.readouterr().err)


# -- every moment, in this process -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny run, and copies of its folder as it was before every operation on a file."""
    place, moments = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("moments")
    run, seen, logged = place / "run", [], itertools.count()

    def before(what: str) -> None:
        if what in ("sync", "replace") or (what == "log" and next(logged) % 30 == 1):
            copy = moments / f"{len(seen):03d}"
            shutil.copytree(run, copy)
            seen.append(copy)

    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        Disk(patch, run, before)
        assert learn(run, *TINY_FLAGS) == 0
    return SimpleNamespace(run=run, content=content(run), moments=seen)


@pytest.fixture
def hurry(monkeypatch):
    hurried(monkeypatch)


def moment_with(tiny, name: str) -> Path:
    """The first moment at which there is a file of that name."""
    return next(moment for moment in tiny.moments if (moment / name).exists())


def check_gone_on(folder: Path, tiny, capsys, *flags: str) -> None:
    assert learn(folder, "--resume", *flags) == 0
    assert capsys.readouterr() == ("", "")
    assert content(folder) == tiny.content


def check_every_moment(tiny, numbers, tmp_path, capsys) -> None:
    for number in numbers:
        folder = tmp_path / f"{number:03d}"
        shutil.copytree(tiny.moments[number], folder)
        begun = (folder / "run.json").exists()
        check_gone_on(folder, tiny, capsys, *([] if begun else TINY_FLAGS))


def test_a_power_cut_between_two_operations_changes_nothing(tiny, tmp_path, capsys, hurry):
    numbers = random.Random(0).sample(range(len(tiny.moments)), 8)
    checkpoint_left = [
        i
        for i, moment in enumerate(tiny.moments)
        if (moment / "checkpoint.safetensors").exists() and (moment / "policies/001.safetensors").exists()
    ]
    check_every_moment(tiny, sorted({0, 1, 2, *numbers, *checkpoint_left[:1]}), tmp_path, capsys)


@pytest.mark.long
def test_a_power_cut_between_any_two_operations_changes_nothing(tiny, tmp_path, capsys, hurry):
    check_every_moment(tiny, range(len(tiny.moments)), tmp_path, capsys)


# -- disks that fail ---------------------------------------------------------------------------------------------

TROUBLES = {
    "no space": ("write", False),
    "no space in an execution": ("log", False),
    "a short write": ("write", True),
    "a short write in an execution": ("log", True),
    "a failed sync": ("sync", False),
    "a failed rename": ("replace", False),
    "a file that cannot be made": ("open", False),
}


def fail_once(kind: str, number: int):
    """Trouble at the operation of this number; also, whether it came to that."""
    operation, short = TROUBLES[kind]
    left = itertools.count()
    happened = []

    def before(what: str) -> bool:
        if what != operation or next(left) != number:
            return False
        happened.append(what)
        if short:
            return True
        raise no_space()

    return before, happened


def learn_with(before, folder: Path, *flags: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, folder, before)
        return learn(folder, *flags)


def check_trouble(kind: str, number: int, folder: Path, tiny, capsys) -> bool:
    """Whether there was any: then it is told in a sentence and the run can go on, or it did not matter."""
    before, happened = fail_once(kind, number)
    code = learn_with(before, folder, *TINY_FLAGS)
    said = capsys.readouterr()
    assert code == 0 or (code == 2 and happened)
    if code == 2:
        assert str(folder) in one_sentence(said.err)
        assert not list(folder.rglob("*.tmp"))
        check_gone_on(folder, tiny, capsys, *([] if (folder / "run.json").exists() else TINY_FLAGS))
    assert content(folder) == tiny.content
    assert not [name for name in map(str, folder.rglob("*")) if ".partial" in name]
    return bool(happened)


@pytest.mark.parametrize("kind", TROUBLES)
def test_a_write_that_fails_is_told_and_the_run_goes_on(tiny, tmp_path, capsys, hurry, kind):
    for number in random.Random(kind).sample(range(20), 2):
        assert check_trouble(kind, number, tmp_path / str(number), tiny, capsys)


@pytest.mark.long
@pytest.mark.parametrize("kind", TROUBLES)
def test_any_write_that_fails_is_told_and_the_run_goes_on(tiny, tmp_path, capsys, hurry, kind):
    every = 9 if "execution" in kind else 1
    for number in itertools.count(0, every):
        if not check_trouble(kind, number, tmp_path / str(number), tiny, capsys):
            break
    assert number > 15


def check_full_disk(number: int, folder: Path, tiny, capsys) -> str:
    """What is said of a disk that is full from one write on, if it is noticed: then no execution is lost."""
    done, resets = itertools.count(), []

    def before(what: str) -> None:
        if what in ("write", "log", "open") and next(done) >= number:
            raise no_space()

    with pytest.MonkeyPatch.context() as patch:
        noted(patch, resets)
        code = learn_with(before, folder, *TINY_FLAGS)
    if code == 0:
        return ""
    said = one_sentence(capsys.readouterr().err)
    if found := re.search(r"it is kept as (\S+): make room(, copy it to (\S+))?", said):
        kept, _, place = found.groups()
        assert Path(kept).exists()
        if place:
            shutil.copy(kept, place)
    with pytest.MonkeyPatch.context() as patch:
        noted(patch, resets)
        check_gone_on(folder, tiny, capsys, *([] if (folder / "run.json").exists() else TINY_FLAGS))
    assert len(resets) == len(set(resets)) == 2
    return said


def noted(patch, resets: list[int]) -> None:
    """Write down the seed of every execution."""
    reset = CartPole.reset
    patch.setattr(CartPole, "reset", lambda self, seed: (resets.append(seed), reset(self, seed))[1])


def test_a_full_disk_loses_no_execution(tiny, tmp_path, capsys, hurry):
    numbers = (7, 60, 99, 101, 103, 125, 180, 220)
    said = [check_full_disk(number, tmp_path / str(number), tiny, capsys) for number in numbers]
    assert any("copy it to" in sentence for sentence in said)
    assert any("it is kept as" in sentence and "copy" not in sentence for sentence in said)


@pytest.mark.long
def test_a_disk_full_at_any_moment_loses_no_execution(tiny, tmp_path, capsys, hurry):
    numbers = itertools.count()
    while check_full_disk(number := next(numbers), tmp_path / str(number), tiny, capsys):
        pass
    assert number > 200


# -- settings ----------------------------------------------------------------------------------------------------


@pytest.fixture
def halfway(tiny, tmp_path, hurry):
    """A run that was stopped while its policy was being improved."""
    return Path(shutil.copytree(moment_with(tiny, "checkpoint.safetensors"), tmp_path / "run"))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--steps", "13"], "learned with steps 12, got 13: leave --steps out"),
        (["--basis-functions", "6"], "learned with basis_functions 5, got 6: leave --basis-functions out"),
        (["--learning-rate", "0.02"], "learned with learning_rate 0.01, got 0.02"),
        (["--policy", "mlp"], "learned with policy rbf, got mlp"),
        (["--seed", "1"], "learned with seed 0, got 1"),
        (["--trials", "0"], "trials must be"),
    ],
)
def test_another_setting_is_refused_by_name(halfway, capsys, flags, words):
    before = content(halfway)
    assert learn(halfway, "--resume", *flags) == 2
    assert words in one_sentence(capsys.readouterr().err)
    assert {**before, ".running.json": b""} == {**content(halfway), ".running.json": b""}


def test_the_same_settings_may_be_given_again(halfway, tiny, capsys):
    check_gone_on(halfway, tiny, capsys, *TINY_FLAGS, "--seed", "0")


def test_without_settings_those_of_the_run_are_used(halfway, tiny, capsys):
    check_gone_on(halfway, tiny, capsys)
    check_gone_on(halfway, tiny, capsys)


def test_trials_may_be_raised_and_not_lowered(halfway, capsys):
    assert learn(halfway, "--resume", "--trials", "2") == 0
    rows = [json.loads(line) for line in (halfway / "results.jsonl").read_text().splitlines()]
    assert [row.get("trial") for row in rows] == [None, 1, 2]
    assert json.loads((halfway / "run.json").read_text())["trials"] == 2
    assert learn(halfway, "--resume", "--trials", "3") == 0
    assert len((halfway / "results.jsonl").read_text().splitlines()) == 4
    assert learn(halfway, "--resume", "--trials", "2") == 2
    assert "is a run of 3 trials, got 2" in one_sentence(capsys.readouterr().err)


def test_going_on_needs_a_folder_by_name(capsys):
    assert main(["learn", "cartpole", "--resume"]) == 2
    assert "--out" in one_sentence(capsys.readouterr().err)


def test_going_on_where_nothing_is_begins(tiny, tmp_path, capsys, hurry):
    check_gone_on(tmp_path / "new", tiny, capsys, *TINY_FLAGS)


def test_a_folder_of_something_else_is_left_alone(tmp_path, capsys, hurry):
    (tmp_path / "mine.txt").write_text("mine")
    assert learn(tmp_path, "--resume", *TINY_FLAGS) == 2
    assert "is not empty" in one_sentence(capsys.readouterr().err)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_run_copied_elsewhere_goes_on_there(halfway, tiny, tmp_path, capsys):
    shutil.copytree(halfway, tmp_path / "some" / "where")
    shutil.rmtree(halfway)
    check_gone_on(tmp_path / "some" / "where", tiny, capsys)


# -- runs --------------------------------------------------------------------------------------------------------


def listed(folder: Path, capsys) -> list[dict]:
    capsys.readouterr()
    assert main(["runs", str(folder), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_runs_are_listed_with_how_they_stand(tiny, halfway, tmp_path, capsys):
    shutil.copytree(tiny.run, tmp_path / "deep/finished")
    shutil.copytree(tiny.run, tmp_path / "damaged")
    (tmp_path / "damaged/trials/001.csv").write_text("t,p\n")
    runs = {Path(run["run"]).name: run for run in listed(tmp_path, capsys)}
    assert {name: run["state"] for name, run in runs.items()} == {
        "damaged": "damaged",
        "finished": "finished",
        "run": "interrupted",
    }
    for name, done in (("finished", 1), ("run", 0)):
        run = runs[name]
        assert (run["task"], run["seed"], run["trials"], run["done"]) == ("cartpole", 0, 1, done)
        assert run["problem"] is None
    row = json.loads(tiny.content["results.jsonl"].splitlines()[1])
    assert runs["finished"]["best_cost"] == row["cost"]
    assert (runs["finished"]["first_success"] is not None) == row["success"]
    assert runs["run"]["best_cost"] is None
    assert "trials/001.csv" in runs["damaged"]["problem"]
    assert main(["runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for word in ("finished", "interrupted", "damaged", "cartpole", "1 of 1", "0 of 1"):
        assert word in said


def test_a_folder_without_runs_is_told(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 2
    assert "no run in" in one_sentence(capsys.readouterr().err)
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert "There is no folder" in one_sentence(capsys.readouterr().err)
