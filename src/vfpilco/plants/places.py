"""Where a task's plant is, and how it is reached."""

from __future__ import annotations

from vfpilco.errors import UserError
from vfpilco.plants.base import Plant
from vfpilco.plants.gym import GymPlant, make
from vfpilco.plants.tcp import RemotePlant
from vfpilco.task import Task


def find(task: Task) -> Plant:
    """The plant of a task: made, or reached at its address."""
    place = task.substitute or task.plant
    if place is None:
        raise UserError(
            f"Task {task.name!r} has no plant: name one with --plant, or run its policies elsewhere with vfpilco tell "
            "and vfpilco ask."
        )
    if not isinstance(place, str):
        made = place()
        return GymPlant(made, task) if hasattr(made, "observation_space") else made
    scheme, _, name = place.partition(":")
    if scheme == "tcp":
        return RemotePlant.connect(place, task)
    if scheme == "gym":
        return GymPlant(make(name), task)
    raise UserError(f"There is no plant at {place[:200]!r}: give tcp://host:port or gym:ID.")
