"""Tasks by name: built-in ones, and those in a user's own file."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from vfpilco import machines
from vfpilco.common.errors import UserError, unknown
from vfpilco.tasks import file
from vfpilco.tasks.task import Task


def names() -> list[str]:
    """The names of all built-in tasks."""
    folders = (module.name for module in pkgutil.iter_modules(machines.__path__) if module.ispkg)
    return sorted(folder.replace("_", "-") for folder in folders)


def load(name: str | Path) -> Task:
    """The built-in task called `name`, or the one in a file of that name, which is executed.

    Args:
        name: One of `names()`, or the path of a Python file that calls its task `task`.

    Returns:
        The task.

    Raises:
        UserError: If there is no such task.

    Example:
        >>> load("furuta").summary
        "swing up a pendulum at the end of a motor's arm and hold it, from two encoders"
    """
    if isinstance(name, Path) or file.is_file(name):
        return file.load(name)
    if name not in names():
        if file.names_task(f"{name}.py"):
            raise UserError(f"There is no built-in task called {name!r}: did you mean the file {name}.py?")
        raise unknown("task", name, names())
    return importlib.import_module(f"{machines.__name__}.{name.replace('-', '_')}.task").task()


def as_task(task: Task | str | Path) -> Task:
    """A task, or the one of that name or in that file.

    Raises:
        UserError: If it is none of these.
    """
    if isinstance(task, Task):
        return task
    if isinstance(task, str | Path):
        return load(task)
    raise UserError(
        f"A task is a vfpilco.Task, the name of a built-in one or the path of a Python file, got {type(task).__name__}."
    )
