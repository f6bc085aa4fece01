"""The tasks that come with the package: one module each, with a function `task()`."""

from __future__ import annotations

import importlib
import pkgutil

from vfpilco import taskfile
from vfpilco.errors import UserError, unknown
from vfpilco.task import Task


def names() -> list[str]:
    """The names of all built-in tasks."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Task:
    """The built-in task called `name`, or the one in a file of that name."""
    if taskfile.is_file(name):
        return taskfile.load(name)
    if name not in names():
        if taskfile.names_task(f"{name}.py"):
            raise UserError(f"There is no built-in task called {name!r}: did you mean the file {name}.py?")
        raise unknown("task", name, names())
    return importlib.import_module(f"{__name__}.{name}").task()
