from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from folders import TINY, Disk, content, hurried, is_partial, learn, one_sentence
from vfpilco.cli import main
from vfpilco.files import to_json

IRRELEVANT = {"timings.jsonl", ".lock", ".running.json", "policy.safetensors"}
"""What going on does not depend on."""


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
        place = file.parents[len(file.parents) - 1] / target if target.startswith("/") else outside(file) / target
        file.unlink()
        file.symlink_to(place)

    return damage


def outside(file: Path) -> Path:
    """A folder beside that of the run."""
    return next(parent for parent in file.parents if (parent / "run.json").parent.name == "run").parent / "outside"


def missing(file: Path, rng: random.Random) -> None:
    file.unlink()


def grow(file: Path, rng: random.Random) -> None:
    os.truncate(file, 2**40)


def sealed(key: str, value: object):
    """A file whose checksum is right and whose content is not."""

    def damage(file: Path, rng: random.Random) -> None:
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        row = json.loads(lines[-1])
        row.pop("checksum", None)
        row[key] = value
        file.write_text("\n".join([*lines[:-1], to_json(row, indent=None if file.suffix == ".jsonl" else 2)]) + "\n")

    return damage


DAMAGES = {
    "emptied": cut(0),
    "cut to a half": cut(0.5),
    "one byte less": cut(1),
    **{f"a bit flipped, {i}": flip_a_bit for i in range(4)},
    "the last bit flipped": flip_the_last_bit,
    "another JSON object": replace_by(b'{"format": 2, "task": 5, "seed": "x", "settings": [], "checksum": 3}\n'),
    "a JSON list": replace_by(b"[1, 2]\n"),
    "deep JSON": replace_by(b"[" * 200_000),
    "huge numbers": replace_by(b'{"format": 1e999, "trials": ' + b"9" * 5000 + b"}\n"),
    "not a number": replace_by(b'{"format": 2, "seed": NaN, "checksum": "' + b"0" * 32 + b'"}\n'),
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
SEALED = {
    f"{key} of {value!r}": (key, value)
    for key in ("task", "settings", "seed", "trials", "versions", "format", "kind", "cost", "trial", "success", "model")
    for value in (None, -1, 1e300, float("nan"), float("inf"), 10**400, "x", [], {}, [[]], {"name": []}, True)
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run, and runs that were stopped: while improving, in an execution, and just after one."""
    place = tmp_path_factory.mktemp("runs")
    run, kept = place / "run", {}

    def before(what: str) -> None:
        partial = run / "trials/001.partial.csv"
        lines = partial.read_bytes().count(b"\n") if partial.exists() else 0
        standing = {
            "improving": (run / "checkpoint.safetensors").exists(),
            "executing": 30 < lines < 60,
            "executed": lines > 91,
        }
        for name, reached in standing.items():
            if reached and name not in kept:
                kept[name] = Path(shutil.copytree(run, place / name / "run"))

    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        Disk(patch, run, before)
        assert learn(run, *TINY) == 0
    kept["finished"] = run
    for name in ("improving", "executing", "executed"):
        (kept[name] / ".running.json").unlink()
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
    """Every run, every file of it, every damage."""
    return [
        (standing, str(path.relative_to(folder)), damage)
        for standing, folder in sorted(runs.folders.items())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for damage in DAMAGES
    ]


def check(runs, standing: str, name: str, damage, seed: int, place: Path, capsys) -> None:
    """Damage a file of a copy of a run, and use it."""
    run = Path(shutil.copytree(runs.folders[standing], place / "run"))
    (place / "outside").mkdir()
    (place / "outside/file").write_text("mine")
    before = (run / name).read_bytes()
    damage(run / name, random.Random(seed))
    commands = {
        "runs": ["runs", str(place)],
        "evaluate": ["evaluate", str(run), "--episodes", "1"],
        "resume": ["learn", "cartpole", "--out", str(run), "--resume", "--quiet"],
        "runs again": ["runs", str(place), "--json"],
    }
    codes = {}
    for command, argv in commands.items():
        with at_most(20):
            codes[command] = main(argv)
        said = capsys.readouterr()
        assert codes[command] in (0, 2), command
        if codes[command]:
            assert Path(name).name.removesuffix(".sha256") in one_sentence(said.err), command
        else:
            assert said.err == "", command
    assert [path.name for path in (place / "outside").iterdir()] == ["file"]
    assert (place / "outside/file").read_text() == "mine"
    if codes["resume"]:
        return
    damaged = run / name
    if name in IRRELEVANT or is_partial(name):
        if damaged.is_file() and not damaged.is_symlink():
            damaged.write_bytes(before)
        else:
            shutil.rmtree(damaged) if damaged.is_dir() and not damaged.is_symlink() else damaged.unlink(missing_ok=True)
            damaged.write_bytes(before)
    expected = {**runs.content, **({name: before} if name == ".running.json" else {})}
    assert content(run) == {**expected, **({name: before} if name == "policy.safetensors" else {})}


def check_all(runs, chosen, tmp_path: Path, capsys) -> None:
    for number, (standing, name, damage) in enumerate(chosen):
        place = tmp_path / f"{number:04d}"
        place.mkdir()
        try:
            check(runs, standing, name, DAMAGES[damage], number, place, capsys)
        except BaseException as error:
            error.add_note(f"{standing}: {name}: {damage} ({place})")
            raise
        shutil.rmtree(place)


def test_a_damaged_file_is_told_and_never_changes_a_result(runs, tmp_path, capsys, monkeypatch):
    hurried(monkeypatch)
    check_all(runs, random.Random(0).sample(cases(runs), 40), tmp_path, capsys)


@pytest.mark.long
@pytest.mark.parametrize("standing", ["finished", "improving", "executing", "executed"])
def test_no_damaged_file_changes_a_result(runs, tmp_path, capsys, monkeypatch, standing):
    hurried(monkeypatch)
    check_all(runs, [case for case in cases(runs) if case[0] == standing], tmp_path, capsys)


def check_sealed(runs, name: str, sort: str, place: Path, capsys) -> None:
    run = Path(shutil.copytree(runs.folders["executing"], place / "run"))
    sealed(*SEALED[sort])(run / name, random.Random(0))
    for argv in (
        ["runs", str(place)],
        ["runs", str(place), "--json"],
        ["evaluate", str(run), "--episodes", "1"],
        ["learn", "cartpole", "--out", str(run), "--resume", "--quiet"],
    ):
        with at_most(20):
            code = main(argv)
        said = capsys.readouterr()
        assert code in (0, 2), argv
        if code:
            one_sentence(said.err)
    shutil.rmtree(run)


@pytest.mark.long
@pytest.mark.parametrize("name", ["run.json", "results.jsonl"])
@pytest.mark.parametrize("sort", SEALED)
def test_content_of_another_type_is_told(runs, tmp_path, capsys, monkeypatch, name, sort):
    hurried(monkeypatch)
    check_sealed(runs, name, sort, tmp_path, capsys)
