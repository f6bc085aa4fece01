"""Small runs, the files they write, and disks that fail; for the tests of resuming and of damage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vfpilco.cli.commands import learn as command
from vfpilco.cli.main import main
from vfpilco.common import files
from vfpilco.model.kernels import SE
from vfpilco.model.noise import WhiteNoise
from vfpilco.policy.rbf import RBF
from vfpilco.state.window import VelocityFree
from vfpilco.storage import checkpoints, trialfile
from vfpilco.storage.runfolder import RunFolder

GIVEN: dict[str, Any] = {"state": VelocityFree(2, 1), "kernel": SE(), "noise": WhiteNoise()}
"""What is otherwise chosen from the data, which takes most of the time of a small run."""
SIZES: dict[str, Any] = {"particles": 4, "policy": RBF(5), "inducing": 32, **GIVEN}
"""The sizes of arrays in small runs: the same in all tests, so that they are compiled once."""
TINY: dict[str, Any] = {"trials": 1, "steps": 12, **SIZES}
"""Keyword arguments of `learn` for a run that takes about a second once everything is compiled."""
GIVEN_FLAGS = ["--m-q", "2", "--m-u", "1", "--kernel", "se", "--noise", "white"]
SIZE_FLAGS = ["--particles", "4", "--policy", "rbf", "--basis-functions", "5", "--inducing", "32", *GIVEN_FLAGS]
TINY_FLAGS = ["--trials", "1", "--steps", "12", *SIZE_FLAGS]
"""The same for the command line."""


def learn(folder: Path, *flags: str) -> int:
    """The exit code of `vfpilco learn cartpole --out FOLDER FLAGS`, in this process."""
    return main(["learn", "cartpole", "--out", str(folder), "--quiet", *flags])


def chained(sample: Path, to: Path) -> Path:
    """A copy of a run of an older format, with its results chained as they are today."""
    folder = RunFolder(shutil.copytree(sample, to))
    results = folder.results()
    (to / "results.jsonl").write_bytes(b"")
    for file in sorted((to / "trials").iterdir()):
        file.rename(to / file.name)
    for result in results:
        for file in to.glob(f"{Path(result.file).stem}.*"):
            file.rename(to / "trials" / file.name)
        folder.add_result(result)
    folder.write_header(folder.header())
    return to


def hurried(patch: Any) -> None:
    """Write a checkpoint after every chunk, and no picture."""
    patch.setattr(checkpoints, "EVERY", 0.0)
    patch.setattr(checkpoints, "MOST_SHARE", 1e9)
    patch.setattr(command, "try_pictures", lambda *_: [])


def is_partial(name: str) -> bool:
    return name.startswith("trials/") and ".partial" in name


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a run except its lock, the timings and the logs of interrupted executions."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    kept = {name for name in found if name not in (".lock", "timings.jsonl") and not is_partial(name)}
    return {name: found[name].read_bytes() for name in sorted(kept)}


STOPPING = "\nvfpilco: stopping ...\n"
"""What a program says that is still busy half a second after a signal."""


def one_sentence(said: str) -> str:
    """The message, which must be one line of the program; a busy one has said before that it is stopping."""
    said = said.replace(STOPPING, "", 1)
    assert said.startswith("vfpilco: "), said
    assert said.count("\n") == 1, said
    return said


class Disk:
    """Replaces `os` and `open` in the modules that write; `before` is called before every operation in a folder.

    It receives the name of the operation: "open", "write", "log" (a sample of an execution), "sync" or "replace". It
    may raise an error; if it returns True for a write, only half of the data is written.
    """

    def __init__(self, patch: Any, folder: Path, before: Callable[[str], Any]) -> None:
        self.folder, self.called, self.ours = folder, before, set()
        patch.setattr(files, "os", self)
        patch.setattr(trialfile, "os", self)
        patch.setattr(files, "open", self.open_file, raising=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def before(self, what: str, path: Any) -> Any:
        return self.called(what) if Path(path).is_relative_to(self.folder) else None

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
        short = handle in self.ours and self.called("log")
        return os.write(handle, data[: len(data) // 2] if short else data)

    def fsync(self, handle: int) -> None:
        if handle in self.ours:
            self.called("sync")
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
