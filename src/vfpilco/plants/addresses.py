"""Finding the plant of a task: made by a function, or reached at an address."""

from __future__ import annotations

from vfpilco.common.errors import UserError
from vfpilco.plants.fmu import open_fmu
from vfpilco.plants.gym import Environment, GymPlant, make
from vfpilco.plants.tcp import RemotePlant
from vfpilco.tasks.plant import Plant
from vfpilco.tasks.task import Task


def find(task: Task) -> Plant:
    """The plant of a task: made by its function, or reached at its address.

    Raises:
        UserError: If the task has no plant, or its address is invalid.
        PlantError: If the plant cannot be reached, or is not the one that the task describes.
    """
    plant = task.plant or task.machine.plant
    if plant is None:
        raise UserError(
            f"Task {task.name!r} has no plant: name one with --plant, or run its policies elsewhere with vfpilco tell "
            "and vfpilco ask."
        )
    if not isinstance(plant, str):
        made = plant()
        return GymPlant(made, task) if isinstance(made, Environment) else made
    scheme, _, name = plant.partition(":")
    if scheme == "tcp":
        return RemotePlant.connect(plant, task)
    if scheme == "gym":
        return GymPlant(make(name), task)
    if scheme == "fmu":
        return open_fmu(name, task)
    raise UserError(f"There is no plant at {plant[:200]!r}: give tcp://host:port, gym:ID or fmu:FILE.")
