"""Tasks by name: built-in ones, and those in a user's own file."""

from __future__ import annotations

import importlib
import pkgutil

from vfpilco import machines
from vfpilco.common.errors import UserError, unknown
from vfpilco.tasks import file
from vfpilco.tasks.task import Task


def names() -> list[str]:
    """The names of all built-in tasks."""
    return sorted(module.name for module in pkgutil.iter_modules(machines.__path__) if module.ispkg)


def load(name: str) -> Task:
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
    if file.is_file(name):
        return file.load(name)
    if name not in names():
        if file.names_task(f"{name}.py"):
            raise UserError(f"There is no built-in task called {name!r}: did you mean the file {name}.py?")
        raise unknown("task", name, names())
    return importlib.import_module(f"{machines.__name__}.{name}.task").task()
