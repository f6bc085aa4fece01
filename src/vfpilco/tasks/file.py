"""Tasks in the user's own Python files: `vfpilco learn my_rig.py`."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import traceback
from pathlib import Path

from vfpilco.common.errors import UserError
from vfpilco.tasks.task import Task


def is_file(name: str) -> bool:
    """Whether the name of a task is that of a file."""
    return name.endswith(".py") or "/" in name or "\\" in name


def names_task(word: str) -> bool:
    """Whether a word of a command line is a task's file: it ends in .py and exists."""
    return word.endswith(".py") and Path(word).is_file()


def load(name: str | Path) -> Task:
    """The task in a file: what it calls `task`, a `Task` or a function that makes one. The file is executed."""
    path = Path(name)
    if not path.is_file():
        raise UserError(f"There is no file {path}: write one with vfpilco new {path.name}.")
    spec = importlib.util.spec_from_file_location(f"vfpilco_task_{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file: name one that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses in the file need this
    try:
        spec.loader.exec_module(module)
        found = getattr(module, "task", None)
        task = found() if callable(found) and not isinstance(found, Task) else found
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise UserError(f"{path} failed{_line(path, error)} ({reason}): fix it.") from error
    if not isinstance(task, Task):
        raise UserError(f"{path} has no task: give the name `task` to a vfpilco.Task, or to a function that makes one.")
    return dataclasses.replace(task, file=str(path.resolve()))


def _line(path: Path, error: Exception) -> str:
    """Where in the file it happened."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f" in line {error.lineno}"
    frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path.resolve())]
    return f" in line {frames[-1]}" if frames else ""
