"""Ball-and-plate with the faults of a rig that was built by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

from vfpilco.machines.ballplate import task as smooth
from vfpilco.machines.ballplate_rough.plant import RoughBallPlate
from vfpilco.tasks.task import Task


def task(**faults: Any) -> Task:
    """Bring the ball to the middle and keep it there, as on the smooth plate; `faults` are those of the plant."""
    base = smooth.task()
    machine = dataclasses.replace(
        base.machine, plant=lambda: RoughBallPlate(smooth.SAMPLING_TIME, smooth.CAMERA, **faults)
    )
    return dataclasses.replace(
        base,
        name="ballplate-rough",
        summary="the ball-and-plate with a late camera that drops images, a tilted plate, backlash and uneven friction",
        machine=machine,
        trials=5,
    )
