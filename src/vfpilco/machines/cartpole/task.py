"""Cart-pole swing-up: the paper's first experiment."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from vfpilco.machines.cartpole.drawing import draw, scene
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.tasks.machine import Drawing, Input, Machine, Position
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.tasks.start import GaussianStart
from vfpilco.tasks.task import Task

SAMPLING_TIME = 1 / 30
SENSOR = GaussianNoise((1e-3, 2e-3))


def task() -> Task:
    """Swing the pole up from hanging and hold it upright with the cart at the origin."""
    return Task(
        name="cartpole",
        summary="swing a pole up on a cart and hold it upright, from cart position and pole angle",
        machine=Machine(
            plant=lambda: CartPole(SAMPLING_TIME, SENSOR),
            positions=(Position("p", "m"), Position("alpha", "rad", angle=True)),
            inputs=(Input("force", "N", limit=10.0),),
            sampling_time=SAMPLING_TIME,
            sensor=SENSOR,
            drawing=Drawing(scene, draw, name="cartpole"),
        ),
        horizon=90,
        cost=cost,
        start=GaussianStart((0.0, 0.0), (1e-2, 1e-2)),
        target=(0.0, np.pi),
        success=swung_up,
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
