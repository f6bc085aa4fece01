"""The ball on its plate, which tilts."""

from __future__ import annotations

import numpy as np

from vfpilco.plants.ballplate import BallPlate
from vfpilco.scenes.base import Scene, disc, line, polygon, trace
from vfpilco.scenes.perspective import project, ring

VIEW = (-60.0, 42.0)
"""Where it is seen from: azimuth and elevation, degrees."""
TILT = 2.0
"""The plate is drawn so many times steeper than it is, or nobody would see it."""
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
