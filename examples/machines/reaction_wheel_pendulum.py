"""A reaction-wheel pendulum: hold a pendulum upright by accelerating a wheel at its end.

    vfpilco learn examples/machines/reaction_wheel_pendulum.py

Masses, lengths, inertias and motor of the kit in D. J. Block, K. J. Åström and M. W. Spong, "The Reaction Wheel
Pendulum" (Morgan & Claypool, 2007). Typical values: encoders of 4000 counts per turn on pivot and motor, the supply of
24 V, the friction of the wheel's bearing, and a start within a few degrees of upright, held by hand.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.02
START_STD = (0.02, 0.0)
ENCODERS = vfpilco.Quantised((2 * np.pi / 4000,) * 2)


class ReactionWheelPendulum(vfpilco.SimulatedPlant):
    """Positions: the pendulum's angle, 0 upright, and that of the wheel relative to the pendulum, rad.

    J θ'' = m g l sin θ - τ,  J_w (θ'' + φ'') = τ,  τ = k (u - k φ') / R - b φ'
    """

    positions = 2
    moment = 0.3014 * 9.81 * 0.12  # m g l, N·m
    inertia, wheel_inertia = 4.572e-3, 2.495e-5  # kg·m²: J without and J_w of the wheel about its own axis
    motor_constant, resistance = 27.4e-3, 12.1  # k in N·m/A, R in Ω
    bearing = 1e-6  # b, N·m·s

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        theta, _, dtheta, dphi = state.tolist()
        k = self.motor_constant
        torque = k * (float(u[0]) - k * dphi) / self.resistance - self.bearing * dphi
        ddtheta = (self.moment * math.sin(theta) - torque) / self.inertia
        return np.array([dtheta, dphi, ddtheta, torque / self.wheel_inertia - ddtheta])


def cost(q):
    """0 upright with the wheel where it started; 1 when the pendulum has fallen."""
    return -jnp.expm1(-((q[..., 0] / 0.15) ** 2) - (q[..., 1] / 100) ** 2)


def held(q: np.ndarray) -> bool:
    """Within 3° of upright during the last second."""
    return bool(np.all(np.abs(q[-round(1 / SAMPLING_TIME) :, 0]) < np.deg2rad(3)))


task = vfpilco.Task(
    name="reaction-wheel-pendulum",
    summary="hold a pendulum upright with a reaction wheel, from two encoders",
    machine=vfpilco.Machine(
        plant=lambda: ReactionWheelPendulum(SAMPLING_TIME, ENCODERS, start_std=START_STD, substeps=5),
        positions=(
            vfpilco.Position("pendulum", "rad", angle=True),
            vfpilco.Position("wheel", "rad", scale=30.0),
        ),
        inputs=(vfpilco.Input("voltage", "V", limit=24.0),),
        sampling_time=SAMPLING_TIME,
        sensor=ENCODERS,
    ),
    horizon=125,
    cost=cost,
    start=vfpilco.GaussianStart((0.0, 0.0), START_STD),
    success=held,
    target=(0.0, None),
    ends=lambda q: abs(q[0]) > 0.5,  # it has fallen
)
