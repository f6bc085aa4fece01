"""UR5: draw a circle with a six-joint arm, from joint angles alone; the paper's second experiment."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.exploration import RandomPD
from vfpilco.plants.ur5 import JOINTS, START, UR5, circle, flange
from vfpilco.plants.ur5_photo import photograph
from vfpilco.scenes.ur5 import scene
from vfpilco.sensors import GaussianNoise
from vfpilco.settings import Settings
from vfpilco.start import GaussianStart
from vfpilco.task import Input, Measure, Position, Task

SAMPLING_TIME = 0.02
HORIZON = 200
SENSOR = GaussianNoise((1e-3,) * 6)
SETTINGS = Settings(
    kernel="se + linear(angles, rates, inputs)",
    policy="linear-rbf",
    particles=200,
    basis_functions=400,
    steps=400,
    learning_rate=4e-3,
    final_learning_rate=1e-3,
    credit=0.9,  # with exact gradients an optimisation may leave for feedback that shakes the arm
    clip=3.0,
)


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
        plant=lambda: UR5(SAMPLING_TIME, SENSOR),
        positions=tuple(Position(joint, "rad", angle=True) for joint in JOINTS),
        inputs=tuple(Input(f"u_{joint}", "N·m", limit=1.0) for joint in JOINTS),
        sampling_time=SAMPLING_TIME,
        horizon=HORIZON,
        sensor=SENSOR,
        cost=cost,
        start=GaussianStart(START, (1e-3,) * 6),
        reference=reference,
        exploration=RandomPD(tuple(map(tuple, reference.tolist()))),
        success=lambda q: end_effector_error(q) <= 2,
        measures=(Measure("end-effector error", "mm", end_effector_error),),
        path=flange,
        photograph=lambda q: photograph(q, goal),
        draw=partial(draw_path, goal),
        scene=partial(scene, goal=goal),
        settings=SETTINGS,
        trials=3,
    )


def draw_path(goal: np.ndarray, axis: Any, q: np.ndarray, sampling_time: float) -> None:
    """The circle that should be drawn and the one that is, seen from above."""
    drawn = flange(q)
    axis.plot(1e3 * goal[:, 0], 1e3 * goal[:, 1], color="0.6", linewidth=4, alpha=0.5, label="reference")
    axis.plot(1e3 * drawn[:, 0], 1e3 * drawn[:, 1], color="#c2410c", linewidth=1.2, label="drawn")
    axis.set_aspect("equal")
    axis.set_xlabel("x [mm]")
    axis.set_ylabel("y [mm]")
    axis.legend(fontsize=8, frameon=False, loc="center")
    axis.spines[["top", "right"]].set_visible(False)


def cost(q: Any, r: Any) -> Any:
    """c = 1 - exp( -‖r - q‖² )."""
    return -jnp.expm1(-((r - q) ** 2).sum(-1))
