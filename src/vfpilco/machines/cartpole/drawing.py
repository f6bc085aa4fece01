"""The cart-pole from the side, as a scene and as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.drawing.shapes import Scene, disc, line, polygon, trace
from vfpilco.machines.cartpole.plant import CartPole

CART = np.array([[-0.09, -0.05], [0.09, -0.05], [0.09, 0.05], [-0.09, 0.05]])
REACH = 1.0
"""How much of the rail is seen to both sides, m."""


def scene(q: np.ndarray) -> Scene:
    """Cart, pole and the path of its tip; the place to be is upright over the middle."""
    p, alpha = q[:, 0], q[:, 1]
    length = CartPole.pole_length
    hinge = np.column_stack([p, np.zeros_like(p)])
    tip = hinge + length * np.column_stack([np.sin(alpha), -np.cos(alpha)])
    return Scene(
        (
            line(np.array([[-5.0, 0.0], [5.0, 0.0]]), 0.012, "frame"),
            line(np.array([[0.0, 0.0], [0.0, length]]), 0.0, "goal"),
            trace(tip),
            polygon(hinge[:, None, :] + CART),
            line(np.stack([hinge, tip], axis=1), 0.03),
            disc(tip, 0.03),
            disc(hinge, 0.018, "frame"),
        ),
        (-REACH, -0.62),
        (REACH, 0.62),
    )


def draw(axis: Any, q: np.ndarray, sampling_time: float) -> None:
    """The cart-pole ten times a second, from light to dark, with the path of the pole's tip."""
    from matplotlib import colormaps

    length = CartPole.pole_length
    tip = np.column_stack([q[:, 0] + length * np.sin(q[:, 1]), -length * np.cos(q[:, 1])])
    axis.axhline(0, color="0.75", linewidth=1, zorder=0)
    axis.plot(tip[:, 0], tip[:, 1], color="0.6", linewidth=0.8, linestyle=":", zorder=1)
    for i in range(0, len(q), max(1, round(0.1 / sampling_time))):
        colour = colormaps["YlOrRd"](0.2 + 0.75 * i / (len(q) - 1))
        axis.plot([q[i, 0], tip[i, 0]], [0, tip[i, 1]], color=colour, linewidth=2.5, solid_capstyle="round", zorder=2)
        axis.plot(q[i, 0], 0, marker="s", color=colour, markersize=9, markeredgecolor="#374151", zorder=3)
    axis.set_aspect("equal")
    axis.set_xlim(-1.0, 1.0)
    axis.set_ylim(-0.6, 0.6)
    axis.set_xlabel("p [m]")
    axis.set_ylabel("height [m]")
    axis.spines[["top", "right"]].set_visible(False)
