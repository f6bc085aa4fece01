"""Runs on disks that fail, and runs interrupted between file operations: nothing is lost, and they can be resumed."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from pathlib import Path

import pytest
from folders import TINY_FLAGS, Disk, content, learn, no_space, one_sentence
from resuming import check_resumed, flags_for

from vfpilco.machines.cartpole.plant import CartPole


def check_every_moment(tiny, numbers, tmp_path, capsys) -> None:
    for number in numbers:
        folder = tmp_path / f"{number:03d}"
        shutil.copytree(tiny.moments[number], folder)
        check_resumed(folder, tiny, capsys, *flags_for(folder))


def test_an_interruption_between_two_file_operations_changes_nothing(tiny, tmp_path, capsys, hurry):
    numbers = random.Random(0).sample(range(len(tiny.moments)), 8)
    checkpoint_left = [
        i
        for i, moment in enumerate(tiny.moments)
        if (moment / "checkpoint.safetensors").exists() and (moment / "policies/001.safetensors").exists()
    ]
    check_every_moment(tiny, sorted({0, 1, 2, *numbers, *checkpoint_left[:1]}), tmp_path, capsys)


@pytest.mark.long
def test_an_interruption_between_any_two_file_operations_changes_nothing(tiny, tmp_path, capsys, hurry):
    check_every_moment(tiny, range(len(tiny.moments)), tmp_path, capsys)


# -- disks that fail ---------------------------------------------------------------------------------------------

FAULTS = {
    "no space": ("write", False),
    "no space in an execution": ("log", False),
    "a short write": ("write", True),
    "a short write in an execution": ("log", True),
    "a failed sync": ("sync", False),
    "a failed rename": ("replace", False),
    "a file that cannot be created": ("open", False),
}


def fail_once(kind: str, number: int):
    """A function that fails once, at the operation with this number, and a list that is not empty after it did."""
    operation, short = FAULTS[kind]
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


def check_fault(kind: str, number: int, folder: Path, tiny, capsys) -> bool:
    """Whether the fault occurred: then it is reported in a sentence and the run can be resumed, or it is harmless."""
    before, happened = fail_once(kind, number)
    code = learn_with(before, folder, *TINY_FLAGS)
    output = capsys.readouterr()
    assert code == 0 or (code == 2 and happened)
    if code == 2:
        assert str(folder) in one_sentence(output.err)
        assert not list(folder.rglob("*.tmp"))
        check_resumed(folder, tiny, capsys, *flags_for(folder))
    assert content(folder) == tiny.content
    assert not [name for name in map(str, folder.rglob("*")) if ".partial" in name]
    return bool(happened)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_failed_write_is_reported_and_the_run_can_be_resumed(tiny, tmp_path, capsys, hurry, kind):
    for number in random.Random(kind).sample(range(20), 2):
        assert check_fault(kind, number, tmp_path / str(number), tiny, capsys)


@pytest.mark.long
@pytest.mark.parametrize("kind", FAULTS)
def test_any_failed_write_is_reported_and_the_run_can_be_resumed(tiny, tmp_path, capsys, hurry, kind):
    every = 9 if "execution" in kind else 1
    for number in itertools.count(0, every):
        if not check_fault(kind, number, tmp_path / str(number), tiny, capsys):
            break
    assert number > 15


def check_full_disk(number: int, folder: Path, tiny, capsys) -> str:
    """The error if the disk is full from one write on; empty if that did not matter. No execution is lost."""
    done, resets = itertools.count(), []

    def before(what: str) -> None:
        if what in ("write", "log", "open") and next(done) >= number:
            raise no_space()

    with pytest.MonkeyPatch.context() as patch:
        record_resets(patch, resets)
        code = learn_with(before, folder, *TINY_FLAGS)
    if code == 0:
        return ""
    error = one_sentence(capsys.readouterr().err)
    if found := re.search(r"it is saved as (\S+): make room(, copy it to (\S+))?", error):
        kept, _, place = found.groups()
        assert Path(kept).exists()
        if place:
            shutil.copy(kept, place)
    with pytest.MonkeyPatch.context() as patch:
        record_resets(patch, resets)
        check_resumed(folder, tiny, capsys, *flags_for(folder))
    assert len(resets) == len(set(resets)) == 2
    return error


def record_resets(patch, resets: list[int]) -> None:
    """Record the seed of every execution."""
    reset = CartPole.reset
    patch.setattr(CartPole, "reset", lambda self, seed: (resets.append(seed), reset(self, seed))[1])


def test_a_full_disk_loses_no_execution(tiny, tmp_path, capsys, hurry):
    numbers = (7, 60, 99, 101, 103, 125, 180, 220)
    errors = [check_full_disk(number, tmp_path / str(number), tiny, capsys) for number in numbers]
    assert any("copy it to" in sentence for sentence in errors)
    assert any("it is saved as" in sentence and "copy" not in sentence for sentence in errors)


@pytest.mark.long
def test_a_disk_full_at_any_moment_loses_no_execution(tiny, tmp_path, capsys, hurry):
    numbers = itertools.count()
    while check_full_disk(number := next(numbers), tmp_path / str(number), tiny, capsys):
        pass
    assert number > 200
