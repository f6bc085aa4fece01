"""The ball on its tilting plate, as a scene and as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.drawing.perspective import project, ring
from vfpilco.drawing.shapes import Scene, disc, line, polygon, trace
from vfpilco.machines.ballplate.plant import BallPlate

VIEW = (-60.0, 42.0)
"""Where it is seen from: azimuth and elevation, degrees."""
TILT = 2.0
"""The tilt of the plate is exaggerated by this factor to be visible."""
CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (BallPlate.border + BallPlate.radius)


def scene(q: np.ndarray) -> Scene:
    """Plate, ball and its path; it should come to rest in the ring."""
    slope = -np.tan(TILT * BallPlate.gear * q[:, 2:])
    corners = np.broadcast_to(CORNERS, (len(q), 4, 2))
    ball = _on_plate(q[:, None, :2], slope)[:, 0]
    return Scene(
        (
            polygon(project(_on_plate(corners, slope), *VIEW), "frame"),
            line(project(ring(2 * BallPlate.radius), *VIEW), 0.0, "goal"),
            trace(project(ball, *VIEW)),
            disc(project(ball + np.array([0, 0, BallPlate.radius]), *VIEW), BallPlate.radius),
        ),
        (-0.26, -0.19),
        (0.26, 0.19),
    )


def _on_plate(xy: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Points (samples, n, 2) of the plate in space, (samples, n, 3)."""
    return np.concatenate([xy, (xy * slope[:, None, :]).sum(-1, keepdims=True)], axis=-1)


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
