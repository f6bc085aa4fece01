"""Small runs, what they leave behind, and disks that make trouble; for the tests of going on and of damage."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vfpilco.cli
import vfpilco.commands.learn
from vfpilco import checkpoints, files, trialfile

TINY = ["--trials", "1", "--steps", "12", "--particles", "4", "--basis-functions", "5", "--inducing", "16"]
"""Settings of a run that takes about a second once everything is compiled."""


def learn(folder: Path, *flags: str) -> int:
    """The exit code of learning in `folder` by the command line, in this process."""
    return vfpilco.cli.main(["learn", "cartpole", "--out", str(folder), "--quiet", *flags])


def hurried(patch: Any) -> None:
    """Make a checkpoint after every chunk, and no picture."""
    patch.setattr(checkpoints, "EVERY", 0.0)
    patch.setattr(checkpoints, "MOST_SHARE", 1e9)
    patch.setattr(vfpilco.commands.learn, "try_pictures", lambda *_: [])


def is_partial(name: str) -> bool:
    return name.startswith("trials/") and ".partial" in name


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a run but for its lock, the times and what is left of executions that were cut off."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    kept = {name for name in found if name not in (".lock", "timings.jsonl") and not is_partial(name)}
    return {name: found[name].read_bytes() for name in sorted(kept)}


def one_sentence(said: str) -> str:
    """What was said, which must be one line of ours."""
    assert said.startswith("vfpilco: "), said
    assert said.count("\n") == 1, said
    return said


class Disk:
    """Stands for `os` and `open` in the modules that write; `before` is told of what happens in a folder, and may fail.

    What it is told: "open", "write", "log" (a sample of an execution), "sync" and "replace". If it returns True for one
    of the writes, only half of it is written.
    """

    def __init__(self, patch: Any, folder: Path, before: Callable[[str], Any]) -> None:
        self.folder, self.tell, self.ours = folder, before, set()
        patch.setattr(files, "os", self)
        patch.setattr(trialfile, "os", self)
        patch.setattr(files, "open", self.open_file, raising=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def before(self, what: str, path: Any) -> Any:
        return self.tell(what) if Path(path).is_relative_to(self.folder) else None

    def open_file(self, path: Any, mode: str, **more: Any) -> Any:
        if mode != "wb":
            return open(path, mode, **more)
        self.before("open", path)
        file = File(path, self)
        if Path(path).is_relative_to(self.folder):
            self.ours.add(file.handle.fileno())
        return file

    def open(self, path: Any, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            self.before("open", path)
        handle = os.open(path, flags, *mode)
        (self.ours.add if Path(path).is_relative_to(self.folder) else self.ours.discard)(handle)
        return handle

    def write(self, handle: int, data: bytes) -> int:
        short = handle in self.ours and self.tell("log")
        return os.write(handle, data[: len(data) // 2] if short else data)

    def fsync(self, handle: int) -> None:
        if handle in self.ours:
            self.tell("sync")
        os.fsync(handle)

    def replace(self, source: Any, target: Any) -> None:
        self.before("replace", target)
        os.replace(source, target)


class File:
    """A file open for writing, on such a disk."""

    def __init__(self, path: Any, disk: Disk) -> None:
        self.path, self.disk = path, disk
        self.handle = open(path, "wb")  # noqa: SIM115

    def write(self, data: bytes) -> None:
        if self.disk.before("write", self.path):
            self.handle.write(data[: len(data) // 2])
            self.handle.flush()
            raise no_space()
        self.handle.write(data)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.handle, name)


def no_space() -> OSError:
    return OSError(28, os.strerror(28))
