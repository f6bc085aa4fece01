"""Furuta pendulum: swing up and hold, from two encoders; the paper's first rig."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vfpilco.machines.furuta.drawing import scene
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.tasks.exploration import Cosines
from vfpilco.tasks.machine import Drawing, Features, Input, Machine, Position
from vfpilco.tasks.sensors import Quantised
from vfpilco.tasks.start import GaussianStart
from vfpilco.tasks.task import Task

SAMPLING_TIME = 1 / 30
ENCODERS = Quantised((2 * np.pi / 4096,) * 2)
JITTER = 1e-3


def task(**faults: float) -> Task:
    """Swing the pendulum up and hold it with the arm at zero; `faults` are those of the plant."""
    jitter = faults.get("jitter", JITTER)
    return Task(
        name="furuta",
        summary="swing up a pendulum at the end of a motor's arm and hold it, from two encoders",
        machine=Machine(
            plant=lambda: Furuta(SAMPLING_TIME, ENCODERS, **{**faults, "jitter": jitter}),
            positions=(Position("arm", "rad", angle=True), Position("pendulum", "rad", angle=True)),
            inputs=(Input("voltage", "V", limit=10.0),),
            sampling_time=SAMPLING_TIME,
            sensor=ENCODERS,
            features=Features(physics, 9),
            drawing=Drawing(scene, name="furuta"),
        ),
        horizon=90,
        cost=cost,
        start=GaussianStart((0.0, 0.0), (5e-3, 5e-3)),
        exploration=Cosines(frequencies=(0.5, 5.0), std=0.3),
        target=(0.0, np.pi),
        success=held_upright,
        trials=6,
    )


def cost(q: Any) -> Any:
    """c = 1 - exp( -(θ/2)² - ((|α| - π)/2)² ), and nearly 1 more beyond three quarters of a half turn of the arm."""
    arm, pendulum = q[..., 0], q[..., 1]
    border = jax.nn.sigmoid(10 * (-0.75 * jnp.pi - arm)) + jax.nn.sigmoid(10 * (arm - 0.75 * jnp.pi))
    return -jnp.expm1(-((arm / 2) ** 2) - ((jnp.abs(pendulum) - jnp.pi) / 2) ** 2) + border


def physics(q: Any, rates: Any, u: Any) -> Any:
    """The terms of the equations of motion, without the inertia: for kernels such as `se + linear(features)`."""
    xp = q.__array_namespace__()
    alpha, dtheta, dalpha, volts = q[..., 1], rates[..., 0], rates[..., 1], u[..., 0]
    sin, cos = xp.sin(alpha), xp.cos(alpha)
    on_arm = [volts, dtheta, sin * dalpha**2, sin * cos * dtheta * dalpha]
    on_pendulum = [sin, dalpha, sin * cos * dtheta**2]
    return xp.stack([*on_arm, *on_pendulum, cos * volts, cos * dtheta], axis=-1)


def held_upright(q: np.ndarray) -> bool:
    """In the last second the pendulum within 10° of upright and the arm within 0.35 rad, at every sample."""
    last = q[-(round(1 / SAMPLING_TIME) + 1) :]
    upright = np.abs(np.abs(last[:, 1]) - np.pi) < np.deg2rad(10)
    return bool(np.all(upright & (np.abs(last[:, 0]) < 0.35)))
