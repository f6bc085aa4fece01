"""Damaged files of a run are reported by name and never change a result."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from folders import TINY_FLAGS, Disk, content, hurried, learn, one_sentence

from vfpilco.cli.main import main
from vfpilco.common.files import to_json

IRRELEVANT = {".running.json", "policy.safetensors"}
"""Files that a run does not depend on; a damaged one may stay."""


def cut(share: float):
    def damage(file: Path, rng: random.Random) -> None:
        size = file.stat().st_size
        os.truncate(file, int(size * share) if share < 1 else max(size - 1, 0))

    return damage


def flip_a_bit(file: Path, rng: random.Random) -> None:
    found = bytearray(file.read_bytes() or b"\0")
    found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    file.write_bytes(found)


def flip_the_last_bit(file: Path, rng: random.Random) -> None:
    found = bytearray(file.read_bytes() or b"\0")
    found[-1] ^= 1
    file.write_bytes(found)


def replace_by(data: bytes):
    def damage(file: Path, rng: random.Random) -> None:
        file.write_bytes(data)

    return damage


def random_bytes(file: Path, rng: random.Random) -> None:
    file.write_bytes(rng.randbytes(rng.choice([1, 7, 8, 9, 100, 5000])))


def folder(file: Path, rng: random.Random) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path, rng: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def link_to(target: str):
    def damage(file: Path, rng: random.Random) -> None:
        file.unlink()
        file.symlink_to(outside(file) / target)

    return damage


def outside(file: Path) -> Path:
    """A folder next to that of the run."""
    return next(parent for parent in file.parents if parent.name == "run").parent / "outside"


def missing(file: Path, rng: random.Random) -> None:
    file.unlink()


def grow(file: Path, rng: random.Random) -> None:
    os.truncate(file, 2**40)


def with_entry(key: str, value: object):
    """A file with a correct checksum and a wrong entry."""

    def damage(file: Path, rng: random.Random) -> None:
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        row = json.loads(lines[-1])
        row.pop("checksum", None)
        row[key] = value
        file.write_text("\n".join([*lines[:-1], to_json(row, indent=None if file.suffix == ".jsonl" else 2)]) + "\n")

    return damage


DAMAGES = {
    "emptied": cut(0),
    "cut in half": cut(0.5),
    "one byte less": cut(1),
    **{f"a bit flipped, {i}": flip_a_bit for i in range(4)},
    "the last bit flipped": flip_the_last_bit,
    "another JSON object": replace_by(b'{"format": 4, "task": 5, "seed": "x", "settings": [], "checksum": 3}\n'),
    "a JSON list": replace_by(b"[1, 2]\n"),
    "deep JSON": replace_by(b"[" * 200_000),
    "huge numbers": replace_by(b'{"format": 1e999, "trials": ' + b"9" * 5000 + b"}\n"),
    "not a number": replace_by(b'{"format": 4, "seed": NaN, "checksum": "' + b"0" * 32 + b'"}\n'),
    "a huge header": replace_by(b"\xff" * 8 + b"{}"),
    "random bytes": random_bytes,
    "a folder": folder,
    "a pipe": pipe,
    "a link to a file": link_to("file"),
    "a link to a folder": link_to(""),
    "a link to nothing": link_to("nothing"),
    "a link to the system": link_to("/etc/hostname"),
    "a link to a device": link_to("/dev/zero"),
    "missing": missing,
    "very long": grow,
}
KEYS = ("task", "settings", "seed", "trials", "versions", "format", "kind", "cost", "trial", "success", "model")
VALUES = (None, -1, 1e300, float("nan"), float("inf"), 10**400, "x", [], {}, [[]], {"name": []}, True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run, and runs interrupted while improving the policy, during an execution, and right after one."""
    place = tmp_path_factory.mktemp("runs")
    run, kept = place / "run", {}

    def before(what: str) -> None:
        partial = run / "trials/001.partial.csv"
        lines = partial.read_bytes().count(b"\n") if partial.exists() else 0
        states = {
            "improving": (run / "checkpoint.safetensors").exists(),
            "executing": 30 < lines < 60,
            "executed": lines > 91,
        }
        for name, reached in states.items():
            if reached and name not in kept:
                kept[name] = Path(shutil.copytree(run, place / name / "run"))

    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        Disk(patch, run, before)
        assert learn(run, *TINY_FLAGS) == 0
    kept["finished"] = run
    return SimpleNamespace(folders=kept, content=content(run))


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def hang(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def cases(runs) -> list[tuple[str, str, str]]:
    """All combinations of a run, one of its files and a damage."""
    return [
        (state, str(path.relative_to(folder)), damage)
        for state, folder in sorted(runs.folders.items())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for damage in DAMAGES
    ]


def check(runs, state: str, name: str, damage, seed: int, place: Path, capsys) -> None:
    """Damage a file in a copy of a run, and use the copy."""
    run = Path(shutil.copytree(runs.folders[state], place / "run"))
    (place / "outside").mkdir()
    (place / "outside/file").write_text("mine")
    damage(run / name, random.Random(seed))
    commands = {
        "runs": ["runs", str(place)],
        "evaluate": ["evaluate", str(run), "--episodes", "1"],
        "resume": ["learn", "cartpole", "--out", str(run), "--resume", "--quiet"],
        "runs again": ["runs", str(place), "--json"],
    }
    codes = {}
    for command, argv in commands.items():
        with at_most(200):
            codes[command] = main(argv)
        output = capsys.readouterr()
        assert codes[command] in (0, 2), command
        if codes[command]:
            expected = {Path(name).name.removesuffix(".sha256"), *may_be_missing(command, runs.folders[state], name)}
            assert any(words in one_sentence(output.err) for words in expected), command
        else:
            assert output.err == "", command
    assert [path.name for path in (place / "outside").iterdir()] == ["file"]
    assert (place / "outside/file").read_text() == "mine"
    if codes["resume"]:
        return
    ignored = {name} if name in IRRELEVANT else set()
    assert without(ignored, content(run)) == without(ignored, runs.content)


def without(names: set[str], found: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in found.items() if name not in names}


def may_be_missing(command: str, undamaged: Path, name: str) -> list[str]:
    """What is reported about a run without a policy, or a folder without run.json."""
    if name == "run.json":
        return ["There is no run in", "is not empty"]
    learned = (undamaged / "policy.safetensors").exists() and name != "policies/001.safetensors"
    return [] if command != "evaluate" or learned else ["There is no policy file"]


def check_all(runs, chosen, tmp_path: Path, capsys) -> None:
    problems = []
    for number, (state, name, damage) in enumerate(chosen):
        place = tmp_path / f"{number:04d}"
        place.mkdir()
        try:
            check(runs, state, name, DAMAGES[damage], number, place, capsys)
        except (Exception, SystemExit) as error:
            problems.append(f"{state}: {name}: {damage}: {type(error).__name__}: {str(error)[:300]}")
        shutil.rmtree(place)
    assert not problems, "\n".join(problems)


def test_a_damaged_file_is_reported_and_never_changes_a_result(runs, tmp_path, capsys, monkeypatch):
    hurried(monkeypatch)
    check_all(runs, random.Random(0).sample(cases(runs), 20), tmp_path, capsys)


@pytest.mark.long
@pytest.mark.parametrize("state", ["finished", "improving", "executing", "executed"])
def test_no_damaged_file_changes_a_result(runs, tmp_path, capsys, monkeypatch, state):
    hurried(monkeypatch)
    check_all(runs, [case for case in cases(runs) if case[0] == state], tmp_path, capsys)


def check_entry(runs, name: str, key: str, value: object, place: Path, capsys) -> None:
    """Change an entry of a file, with a correct checksum, and use the run."""
    run = Path(shutil.copytree(runs.folders["executing"], place / "run"))
    with_entry(key, value)(run / name, random.Random(0))
    for argv in (
        ["runs", str(place)],
        ["runs", str(place), "--json"],
        ["evaluate", str(run), "--episodes", "1"],
        ["learn", "cartpole", "--out", str(run), "--resume", "--quiet"],
    ):
        with at_most(200):
            code = main(argv)
        output = capsys.readouterr()
        assert code in (0, 2), argv
        if code:
            one_sentence(output.err)


@pytest.mark.long
@pytest.mark.parametrize("name", ["run.json", "results.jsonl"])
def test_an_entry_of_the_wrong_type_is_reported(runs, tmp_path, capsys, monkeypatch, name):
    hurried(monkeypatch)
    problems = []
    for number, (key, value) in enumerate(itertools.product(KEYS, VALUES)):
        try:
            check_entry(runs, name, key, value, tmp_path / str(number), capsys)
        except (Exception, SystemExit) as error:
            problems.append(f"{key} of {str(value)[:20]}: {type(error).__name__}: {str(error)[:300]}")
    assert not problems, "\n".join(problems)


def test_an_earlier_policy_is_never_used_for_a_missing_one(runs, tmp_path, capsys):
    run = Path(shutil.copytree(runs.folders["finished"], tmp_path / "run"))
    (run / "policies/001.safetensors").rename(run / "policies/000.safetensors")
    assert main(["evaluate", str(run), "--episodes", "1"]) == 2
    assert "policies/001.safetensors is missing" in one_sentence(capsys.readouterr().err)
