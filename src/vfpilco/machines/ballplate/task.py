"""Ball-and-plate: bring a ball to the middle of a plate from anywhere, by a camera; the paper's second rig."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.machines.ballplate.drawing import draw, scene
from vfpilco.machines.ballplate.plant import BallPlate
from vfpilco.tasks.exploration import TriangularWaves
from vfpilco.tasks.machine import Drawing, Input, Machine, Position
from vfpilco.tasks.sensors import Quantised
from vfpilco.tasks.start import UniformStart
from vfpilco.tasks.task import Measure, Task

SAMPLING_TIME = 1 / 30
HORIZON = 90
CAMERA = Quantised((1e-3, 1e-3, 0.0, 0.0))
LIMIT = float(np.deg2rad(4))


def task(**faults: float) -> Task:
    """Bring the ball to the middle and keep it there; `faults` are those of the plant."""
    border, bound = BallPlate.border, BallPlate.bound
    return Task(
        name="ballplate",
        summary="bring a ball to the middle of a plate by tilting it, from a camera's millimetres",
        machine=Machine(
            plant=lambda: BallPlate(SAMPLING_TIME, CAMERA, **faults),
            positions=(
                Position("x", "m", scale=border / 2),
                Position("y", "m", scale=border / 2),
                Position("motor x", "rad", angle=True, commanded="turn x", bounds=(-bound, bound)),
                Position("motor y", "rad", angle=True, commanded="turn y", bounds=(-bound, bound)),
            ),
            inputs=(Input("turn x", "rad", limit=LIMIT), Input("turn y", "rad", limit=LIMIT)),
            sampling_time=SAMPLING_TIME,
            sensor=CAMERA,
            drawing=Drawing(scene, draw, name="ballplate"),
        ),
        horizon=HORIZON,
        cost=cost,
        start=UniformStart((-border, -border, 0.0, 0.0), (border, border, 0.0, 0.0)),
        exploration=TriangularWaves(),
        explorations=2,
        ends=lambda q: bool(np.any(np.abs(q[:2]) >= border)),
        target=(0.0, 0.0, 0.0, 0.0),
        success=held_in_the_middle,
        measures=(Measure("final distance", "mm", final_distance),),
        trials=3,
    )


def cost(q: Any) -> Any:
    """c = 1 - exp( -(x/0.15)² - (y/0.15)² - α₁² - α₂² )."""
    ball, motors = q[..., :2] / BallPlate.border, q[..., 2:]
    return -jnp.expm1(-(ball**2).sum(-1) - (motors**2).sum(-1))


def final_distance(q: np.ndarray) -> float:
    """How far from the middle the ball is in the end, mm; one that touched the border is as far as that."""
    touched = len(q) <= HORIZON
    return 1e3 * (BallPlate.border if touched else float(np.hypot(*q[-1, :2])))


def held_in_the_middle(q: np.ndarray) -> bool:
    """In the last second the ball's centre is within its diameter of the middle, at every sample."""
    last = q[-(round(1 / SAMPLING_TIME) + 1) :, :2]
    return bool(np.all(np.hypot(*last.T) < 2 * BallPlate.radius))
