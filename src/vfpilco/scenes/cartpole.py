"""The cart-pole from the side."""

from __future__ import annotations

import numpy as np

from vfpilco.plants.cartpole import CartPole
from vfpilco.scenes.base import Scene, disc, line, polygon, trace

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
