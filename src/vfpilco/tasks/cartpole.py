"""Cart-pole swing-up: the paper's first experiment."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.plants.cartpole import CartPole
from vfpilco.scenes.cartpole import scene
from vfpilco.sensors import GaussianNoise
from vfpilco.start import GaussianStart
from vfpilco.task import Input, Position, Task

SAMPLING_TIME = 1 / 30
SENSOR = GaussianNoise((1e-3, 2e-3))


def task() -> Task:
    """Swing the pole up from hanging and hold it upright with the cart at the origin."""
    return Task(
        name="cartpole",
        summary="swing a pole up on a cart and hold it upright, from cart position and pole angle",
        plant=lambda: CartPole(SAMPLING_TIME, SENSOR),
        positions=(Position("p", "m"), Position("alpha", "rad", angle=True)),
        inputs=(Input("force", "N", limit=10.0),),
        sampling_time=SAMPLING_TIME,
        horizon=90,
        sensor=SENSOR,
        cost=cost,
        start=GaussianStart((0.0, 0.0), (1e-2, 1e-2)),
        success=swung_up,
        draw=draw,
        scene=scene,
    )


def cost(q: Any) -> Any:
    """c = 1 - exp( -((|α| - π)/3)² - p² ), with expm1 because near the target the difference is lost in float32."""
    p, alpha = q[..., 0], q[..., 1]
    return -jnp.expm1(-(((jnp.abs(alpha) - jnp.pi) / 3) ** 2) - p**2)


def swung_up(q: np.ndarray) -> bool:
    """In the last second |p| < 0.1 m and the pole within 10° of upright, at every sample."""
    last = q[-(round(1 / SAMPLING_TIME) + 1) :]
    upright = np.abs(np.abs(last[:, 1]) - np.pi) < np.deg2rad(10)
    return bool(np.all(upright & (np.abs(last[:, 0]) < 0.1)))


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
