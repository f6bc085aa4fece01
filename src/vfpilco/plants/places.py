"""Where a task's plant is, and how it is reached."""

from __future__ import annotations

from vfpilco.errors import UserError
from vfpilco.plants.base import Plant
from vfpilco.plants.gym import GymPlant, make
from vfpilco.plants.tcp import RemotePlant
from vfpilco.task import Task


def find(task: Task) -> Plant:
    """The plant of a task: made, or reached at its address."""
    if task.plant is None:
        raise UserError(
            f"Task {task.name!r} has no plant: name one with --plant, or run its policies elsewhere with vfpilco tell "
            "and vfpilco ask."
        )
    if not isinstance(task.plant, str):
        made = task.plant()
        return GymPlant(made, task) if hasattr(made, "observation_space") else made
    scheme, _, name = task.plant.partition(":")
    if scheme == "tcp":
        return RemotePlant.connect(task.plant, task)
    if scheme == "gym":
        return GymPlant(make(name), task)
    raise UserError(f"There is no plant at {task.plant[:200]!r}: give tcp://host:port or gym:ID.")
