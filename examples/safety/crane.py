"""A crane: carry a hanging load 30 cm, and never overshoot the target by more than 2 cm.

    vfpilco learn examples/safety/crane.py --max-risk 0.2

The machine is the built-in cart-pole, whose pole hangs down.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np

import vfpilco

TARGET, OVERSHOOT = 0.3, 0.02
hanging = vfpilco.task("cartpole")
cart, load = hanging.machine.positions
trolley = dataclasses.replace(cart, safe=(-0.2, TARGET + OVERSHOOT))


def cost(q):
    """0 with the trolley at its target and the load below it, near 1 at the start."""
    return -jnp.expm1(-(((q[..., 0] - TARGET) / 0.15) ** 2) - (q[..., 1] / 0.5) ** 2)


def arrived(q: np.ndarray) -> bool:
    """Within 2 cm of the target during the last second, and the load within 5° of hanging."""
    last = q[-round(1 / hanging.machine.sampling_time) :]
    return bool(np.all((np.abs(last[:, 0] - TARGET) < 0.02) & (np.abs(last[:, 1]) < np.deg2rad(5))))


task = dataclasses.replace(
    hanging,
    name="crane",
    summary="carry a hanging load to a target without overshooting it, from trolley position and load angle",
    machine=dataclasses.replace(hanging.machine, positions=(trolley, load)),
    cost=cost,
    success=arrived,
    target=(TARGET, 0.0),
)
