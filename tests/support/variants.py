"""Variants of tasks for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from vfpilco.tasks.machine import Machine
from vfpilco.tasks.task import Task

MACHINE = {f.name for f in dataclasses.fields(Machine)}


def variant(task: Task, **changes: Any) -> Task:
    """The task with other fields, of the task itself or of its machine."""
    machine = {name: value for name, value in changes.items() if name in MACHINE}
    own = {name: value for name, value in changes.items() if name not in MACHINE}
    return dataclasses.replace(task, machine=dataclasses.replace(task.machine, **machine), **own)
