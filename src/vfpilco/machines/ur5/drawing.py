"""The UR5 as a line from joint to joint, and what it draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.drawing.perspective import project, ring
from vfpilco.drawing.shapes import Scene, disc, line, trace
from vfpilco.machines.ur5.plant import flange, frames

VIEW = (-60.0, 30.0)
"""Where it is seen from: azimuth and elevation, degrees."""


def scene(q: np.ndarray, goal: np.ndarray) -> Scene:
    """Base, links and joints, the path that was drawn, and the `goal` (rows, 3) that should be."""
    joints = project(frames(q)[:, :, :3, 3], *VIEW)
    floor = np.array([[x, y, 0.0] for x, y in [(-0.9, -0.5), (0.2, -0.5), (0.2, 0.35), (-0.9, 0.35), (-0.9, -0.5)]])
    return Scene(
        (
            line(project(floor, *VIEW), 0.002, "frame"),
            line(project(ring(0.075), *VIEW), 0.004, "frame"),
            line(project(goal, *VIEW), 0.0, "goal"),
            trace(project(flange(q), *VIEW)),
            line(joints[:, :4], 0.034),
            line(joints[:, 3:], 0.022),
            *(disc(joints[:, i], 0.013, "frame") for i in range(1, 6)),
            disc(joints[:, 6], 0.012),
        ),
        (-1.06, -0.3),
        (0.38, 0.58),
    )


def draw_path(goal: np.ndarray, axis: Any, q: np.ndarray, sampling_time: float) -> None:
    """The circle that should be drawn and the one that is, seen from above."""
    drawn = flange(q)
    axis.plot(1e3 * goal[:, 0], 1e3 * goal[:, 1], color="0.6", linewidth=4, alpha=0.5, label="reference")
    axis.plot(1e3 * drawn[:, 0], 1e3 * drawn[:, 1], color="#c2410c", linewidth=1.2, label="drawn")
    axis.set_aspect("equal")
    axis.set_xlabel("x [mm]")
    axis.set_ylabel("y [mm]")
    legend_above(axis)
    axis.spines[["top", "right"]].set_visible(False)
