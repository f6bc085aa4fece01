"""The Furuta pendulum, seen from above and aside."""

from __future__ import annotations

import numpy as np

from vfpilco.drawing.perspective import project, ring
from vfpilco.drawing.shapes import Scene, disc, line, trace
from vfpilco.machines.furuta.plant import Furuta

VIEW = (35.0, 24.0)
"""Where it is seen from: azimuth and elevation, degrees."""
BASE = 0.11
"""The height of the motor below the arm, m."""


def scene(q: np.ndarray) -> Scene:
    """Motor, arm and pendulum with the path of its tip; it should stand up over the arm at zero."""
    theta, alpha = q[:, 0], q[:, 1]
    zero, one = np.zeros_like(theta), np.ones_like(theta)
    outwards = np.column_stack([np.cos(theta), np.sin(theta), zero])
    sideways = np.column_stack([-np.sin(theta), np.cos(theta), zero])
    upwards = np.column_stack([zero, zero, one])
    end = Furuta.arm_length * outwards
    tip = end + Furuta.pendulum_length * (np.sin(alpha)[:, None] * sideways - np.cos(alpha)[:, None] * upwards)
    middle = np.zeros_like(end)
    goal = Furuta.arm_length * np.array([1.0, 0.0, 0.0]) + [[0, 0, 0], [0, 0, Furuta.pendulum_length]]
    return Scene(
        (
            line(project(ring(0.045, -BASE), *VIEW), 0.002, "frame"),
            line(project(ring(Furuta.arm_length), *VIEW), 0.001, "frame"),
            line(project(np.array([[0, 0, -BASE], [0, 0, 0]]), *VIEW), 0.014, "frame"),
            line(project(goal, *VIEW), 0.0, "goal"),
            trace(project(tip, *VIEW)),
            line(project(np.stack([middle, end], axis=1), *VIEW), 0.008),
            line(project(np.stack([end, tip], axis=1), *VIEW), 0.006),
            disc(project(tip, *VIEW), 0.007),
            disc(project(end, *VIEW), 0.005, "frame"),
        ),
        (-0.24, -0.17),
        (0.24, 0.18),
    )
