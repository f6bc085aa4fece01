"""Ball-and-plate: bring a ball to the middle of a plate from anywhere, by a camera; the paper's second rig."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.exploration import TriangularWaves
from vfpilco.plants.ballplate import BallPlate
from vfpilco.scenes.ballplate import scene
from vfpilco.sensors import Quantised
from vfpilco.settings import Settings
from vfpilco.start import UniformStart
from vfpilco.task import Input, Measure, Position, Task

SAMPLING_TIME = 1 / 30
HORIZON = 90
CAMERA = Quantised((1e-3, 1e-3, 0.0, 0.0))
LIMIT = float(np.deg2rad(4))
SETTINGS = Settings(
    kernel="se + linear(angles)",
    policy="linear-rbf",
    basis_functions=400,
    steps=400,
    credit=1.0,  # nothing here is unstable
    clip=3.0,
)


def task(**faults: float) -> Task:
    """Bring the ball to the middle and keep it there; `faults` are those of the plant."""
    border, bound = BallPlate.border, BallPlate.bound
    return Task(
        name="ballplate",
        summary="bring a ball to the middle of a plate by tilting it, from a camera's millimetres",
        plant=lambda: BallPlate(SAMPLING_TIME, CAMERA, **faults),
        positions=(
            Position("x", "m", scale=border / 2),
            Position("y", "m", scale=border / 2),
            Position("motor x", "rad", angle=True, commanded="turn x", bounds=(-bound, bound)),
            Position("motor y", "rad", angle=True, commanded="turn y", bounds=(-bound, bound)),
        ),
        inputs=(Input("turn x", "rad", limit=LIMIT), Input("turn y", "rad", limit=LIMIT)),
        sampling_time=SAMPLING_TIME,
        horizon=HORIZON,
        sensor=CAMERA,
        cost=cost,
        start=UniformStart((-border, -border, 0.0, 0.0), (border, border, 0.0, 0.0)),
        exploration=TriangularWaves(),
        explorations=2,
        ends=lambda q: bool(np.any(np.abs(q[:2]) >= border)),
        success=held_in_the_middle,
        measures=(Measure("final distance", "mm", final_distance),),
        draw=draw,
        scene=scene,
        settings=SETTINGS,
        trials=3,
        tests=10,
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


def draw(axis: Any, q: np.ndarray, sampling_time: float) -> None:
    """The ball's path on the plate, with the ball where it came to rest."""
    from matplotlib.patches import Circle, Rectangle

    border = 1e3 * BallPlate.border
    axis.add_patch(Rectangle((-border, -border), 2 * border, 2 * border, facecolor="0.96", edgecolor="0.5"))
    path = 1e3 * q[:, :2]
    axis.plot(*path.T, color="#c2410c", linewidth=1.2)
    axis.plot(*path[0], "o", color="#c2410c", markersize=4)
    axis.add_patch(Circle((0, 0), 1e3 * BallPlate.radius, fill=False, edgecolor="0.3", linestyle="--"))
    axis.add_patch(Circle(path[-1], 1e3 * BallPlate.radius, color="#c2410c", alpha=0.4))  # pyright: ignore
    axis.set_aspect("equal")
    axis.set_xlim(-1.1 * border, 1.1 * border)
    axis.set_ylim(-1.1 * border, 1.1 * border)
    axis.set_xlabel("x [mm]")
    axis.set_ylabel("y [mm]")
    axis.spines[["top", "right"]].set_visible(False)
