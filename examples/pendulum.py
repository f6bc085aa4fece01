"""Gymnasium's Pendulum-v1 without its velocity, started hanging: `vfpilco learn examples/pendulum.py`."""

import gymnasium
import jax.numpy as jnp
import numpy as np

import vfpilco


class Hanging(gymnasium.Wrapper):
    """Starts at rest, pointing down (the angle is 0 upright)."""

    def reset(self, **options):
        super().reset(**options)
        self.unwrapped.state = np.array([np.pi, 0.0])
        return self.unwrapped._get_obs(), {}


task = vfpilco.Task(
    name="pendulum",
    machine=vfpilco.Machine(
        plant=lambda: Hanging(gymnasium.make("Pendulum-v1")),
        positions=(vfpilco.Position("angle", "rad", angle=True, entry=(1, 0)),),  # entries 1 and 0: sine and cosine
        inputs=(vfpilco.Input("torque", "N·m", limit=2.0),),
        sampling_time=0.05,
        sensor=vfpilco.GaussianNoise((1e-3,)),
    ),
    horizon=100,
    cost=lambda q: 1 - jnp.exp(-(((jnp.abs(q[..., 0] - jnp.pi) - jnp.pi) / 2) ** 2)),  # upright on either side
    start=vfpilco.GaussianStart((np.pi,), (1e-2,)),
    success=lambda q: bool(np.all(np.cos(q[-21:, 0]) > np.cos(np.deg2rad(10)))),
)
