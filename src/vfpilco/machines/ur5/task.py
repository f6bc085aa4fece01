"""UR5: draw a circle with a six-joint arm, from joint angles alone; the paper's second experiment."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.machines.ur5.drawing import draw_path, scene
from vfpilco.machines.ur5.photo import photograph
from vfpilco.machines.ur5.plant import JOINTS, START, UR5, circle, flange
from vfpilco.tasks.exploration import RandomPD
from vfpilco.tasks.machine import Drawing, Input, Machine, Position
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.tasks.start import GaussianStart
from vfpilco.tasks.task import Measure, Task

SAMPLING_TIME = 0.02
HORIZON = 200
SENSOR = GaussianNoise((1e-3,) * 6)


def task(radius: float = 0.1, period: float = 4.0) -> Task:
    """Follow the joint angles that draw a circle of `radius` metres, one turn in `period` seconds."""
    reference = circle(HORIZON, SAMPLING_TIME, radius, period)
    goal = flange(reference)

    def end_effector_error(q: np.ndarray) -> float:
        """The mean distance of the flange from where it should be, over all samples but the start, mm."""
        return 1e3 * float(np.linalg.norm(flange(q) - goal[: len(q)], axis=-1)[1:].mean())

    return Task(
        name="ur5",
        summary="draw a circle with a six-joint arm under motor torques, from its joint angles",
        machine=Machine(
            plant=lambda: UR5(SAMPLING_TIME, SENSOR),
            positions=tuple(Position(joint, "rad", angle=True) for joint in JOINTS),
            inputs=tuple(Input(f"u_{joint}", "N·m", limit=1.0) for joint in JOINTS),
            sampling_time=SAMPLING_TIME,
            sensor=SENSOR,
            drawing=Drawing(
                partial(scene, goal=goal), partial(draw_path, goal), lambda q: photograph(q, goal), name="ur5"
            ),
        ),
        horizon=HORIZON,
        cost=cost,
        start=GaussianStart(START, (1e-3,) * 6),
        reference=reference,
        exploration=RandomPD(tuple(map(tuple, reference.tolist()))),
        success=lambda q: end_effector_error(q) <= 2,
        measures=(Measure("end-effector error", "mm", end_effector_error),),
        trials=3,
    )


def cost(q: Any, r: Any) -> Any:
    """c = 1 - exp( -‖r - q‖² )."""
    return -jnp.expm1(-((r - q) ** 2).sum(-1))
