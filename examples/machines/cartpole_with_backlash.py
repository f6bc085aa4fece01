"""A cart-pole with 2 mm of backlash in its drive and 40 ms of delay: swing the pole up and hold it.

    vfpilco learn examples/machines/cartpole_with_backlash.py

Cart and pole are those of the built-in machine, which is that of the paper. The drive pushes the cart only after it has
crossed the play between pinion and rack. A camera sees cart and pole. Typical values: mass, play and stiffness of the
drive, noise of the camera.
"""

import jax.numpy as jnp
import numpy as np

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole

SAMPLING_TIME = 1 / 30
DELAY = 0.04
CAMERA = vfpilco.GaussianNoise((1e-3, 4e-3))


class CartPoleWithBacklash(CartPole):
    """Positions: the cart, m, and the pole, rad, 0 hanging down; the state also has place z and speed of the drive.

    m_d z'' = u - F,  F = k s + c (z' - p') where the teeth touch: s = z - p less half the play
    """

    hidden = (0.0, 0.0)
    drive_mass, play = 0.1, 2e-3  # m_d in kg, m
    stiffness, damping = 2e4, 40.0  # k in N/m, c in N·s/m

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        p, _, dp, _, z, dz = state.tolist()
        squeezed = max(abs(z - p) - self.play / 2, 0.0) * (1 if z > p else -1)
        force = self.stiffness * squeezed + self.damping * (dz - dp) if squeezed else 0.0
        if force * squeezed < 0:  # teeth push, they do not pull
            force = 0.0
        cart_and_pole = super().derivative(state[:4], np.array([force]))
        return np.array([*cart_and_pole.tolist(), dz, (float(u[0]) - force) / self.drive_mass])


def cost(q):
    """0 upright over the middle, near 1 hanging down."""
    return -jnp.expm1(-(((jnp.abs(q[..., 1]) - jnp.pi) / 3) ** 2) - q[..., 0] ** 2)


def swung_up(q: np.ndarray) -> bool:
    """In the last second within 15° of upright and 15 cm of the middle."""
    last = q[-round(1 / SAMPLING_TIME) :]
    upright = np.abs(np.abs(last[:, 1]) - np.pi) < np.deg2rad(15)
    return bool(np.all(upright & (np.abs(last[:, 0]) < 0.15)))


task = vfpilco.Task(
    name="cartpole-with-backlash",
    summary="swing up a pole on a cart with backlash and 40 ms of delay, from a camera",
    machine=vfpilco.Machine(
        plant=lambda: CartPoleWithBacklash(SAMPLING_TIME, CAMERA, start_std=0.01, substeps=20, latency=DELAY),
        positions=(vfpilco.Position("cart", "m"), vfpilco.Position("pole", "rad", angle=True)),
        inputs=(vfpilco.Input("force", "N", limit=10.0),),
        sampling_time=SAMPLING_TIME,
        sensor=CAMERA,
    ),
    horizon=100,
    cost=cost,
    start=vfpilco.GaussianStart((0.0, 0.0), (0.01, 0.01)),
    success=swung_up,
    target=(0.0, np.pi),
)
