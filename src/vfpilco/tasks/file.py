"""Tasks in the user's own Python files: `vfpilco learn my_rig.py`."""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from vfpilco.common.errors import UserError
from vfpilco.common.text import printable
from vfpilco.tasks import known
from vfpilco.tasks.task import Task

_ADDED: set[str] = set()
"""The folders of task files that were made importable."""


def is_file(name: str) -> bool:
    """Whether the name of a task is that of a file."""
    return name.endswith(".py") or "/" in name or "\\" in name


def names_task(word: str) -> bool:
    """Whether a word of a command line is a task's file: it ends in .py and exists."""
    return word.endswith(".py") and Path(word).is_file()


def load(name: str | Path) -> Task:
    """The task in a file that the user names: what it calls `task`, a `Task` or a function that makes one.

    The file is executed, and from then on known as one that the user has run.
    """
    path = Path(name)
    if not path.is_file():
        raise UserError(f"There is no file {path}: write one with vfpilco new {path.name}.")
    source = path.read_bytes()
    task = _executed(path, source)
    known.remember(path, source)
    return task


def load_known(name: str) -> Task:
    """The task in a file that a run folder names; it is executed only if the user has run the same file before.

    Raises:
        UserError: If there is no such file, or if it is not known: the message says what would be executed.
    """
    path = Path(name)
    try:
        source = path.read_bytes() if path.is_file() else None
    except (OSError, ValueError):
        source = None
    if source is None:
        raise UserError(f"its task was in {name}, which does not exist: name its file with --task.")
    if not known.is_known(path, source):
        raise UserError(
            f"its task is the program {name}, which you have not run before in its present form: read it, and if you "
            f"trust it, name it with --task {name}"
        )
    return _executed(path, source)


@contextmanager
def _helpers_in(folder: Path) -> Iterator[None]:
    """Let a task file import modules that are next to it, first while it is executed and last afterwards.

    A module of the same name that another task file has imported from its own folder is not taken for it.
    """
    for file in folder.glob("*.py"):
        loaded = getattr(sys.modules.get(file.stem), "__file__", None)
        if loaded and str(Path(loaded).parent) in _ADDED - {str(folder)}:
            del sys.modules[file.stem]
    if str(folder) in sys.path and str(folder) not in _ADDED:  # The program itself is in that folder.
        yield
        return
    _ADDED.add(str(folder))
    sys.path[:] = [str(folder), *(other for other in sys.path if other != str(folder))]
    try:
        yield
    finally:
        sys.path[:] = [*(other for other in sys.path if other != str(folder)), str(folder)]


def _executed(path: Path, source: bytes) -> Task:
    """The task of a program; what is executed is `source`, and not what the file holds by now."""
    module = ModuleType(f"vfpilco_task_{path.stem}")
    module.__file__ = str(path.resolve())
    sys.modules[module.__name__] = module  # dataclasses in the file need this
    try:
        with _helpers_in(path.resolve().parent):
            exec(compile(source, _code_name(path), "exec"), module.__dict__)
            found = getattr(module, "task", None)
            task = found() if callable(found) and not isinstance(found, Task) else found
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise UserError(f"{path} failed{_line(path, error)} ({reason}): fix it.") from error
    if not isinstance(task, Task):
        raise UserError(f"{path} has no task: give the name `task` to a vfpilco.Task, or to a function that makes one.")
    return dataclasses.replace(task, file=module.__file__)


def _code_name(path: Path) -> str:
    """The file as its code names it: JAX compiles no function from a file whose name is not text."""
    return printable(str(path.resolve()))


def _line(path: Path, error: Exception) -> str:
    """Where in the file it happened."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f" in line {error.lineno}"
    frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == _code_name(path)]
    return f" in line {frames[-1]}" if frames else ""
