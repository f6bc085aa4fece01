"""A tiny run that is interrupted in every way, and resumed."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from folders import TINY_FLAGS, Disk, content, hurried, learn

from vfpilco.cli.main import main


class TinyRun(NamedTuple):
    """A finished tiny run, its content, and copies of its folder before every operation on a file."""

    run: Path
    content: dict[str, bytes]
    moments: list[Path]

    def moment_with(self, name: str) -> Path:
        """The first moment at which there is a file of that name."""
        return next(moment for moment in self.moments if (moment / name).exists())


def tiny_run(folder: Path, moments: Path, flags: list[str] = TINY_FLAGS) -> TinyRun:
    """Learn the tiny run; the copies go to the folder `moments`."""
    seen, logged = [], itertools.count()

    def before(what: str) -> None:
        if what in ("sync", "replace") or (what == "log" and next(logged) % 30 == 1):
            copy = moments / f"{len(seen):03d}"
            shutil.copytree(folder, copy)
            seen.append(copy)

    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        Disk(patch, folder, before)
        assert learn(folder, *flags) == 0
    return TinyRun(folder, content(folder), seen)


def check_resumed(folder: Path, tiny: TinyRun, capsys, *flags: str) -> None:
    """Resume a run without a word: it must end like the one that was not interrupted."""
    assert learn(folder, "--resume", *flags) == 0
    assert capsys.readouterr() == ("", "")
    assert content(folder) == tiny.content


def flags_for(folder: Path) -> list[str]:
    """The flags to resume with: none if the run was begun, otherwise those of a new one."""
    return [] if (folder / "run.json").exists() else TINY_FLAGS


def listed_runs(folder: Path, capsys) -> list[dict]:
    """The output of `vfpilco runs FOLDER --json`."""
    capsys.readouterr()
    assert main(["runs", str(folder), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
