"""A flexible link: turn it by 60° without leaving its tip vibrating.

    vfpilco learn examples/machines/flexible_link.py

Servo: Quanser SRV02 in its high gear. Typical values: the link, a steel ruler of 42 cm and 65 g that swings at 3 Hz
when its base is clamped, and its damping; an encoder of 4096 counts per turn, a strain gauge with 2 mrad of noise, an
amplifier of 5 V.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.025
GOAL = math.pi / 3
START_STD = (0.01, 0.0)
SENSOR = vfpilco.PerPosition((vfpilco.Quantised((2 * np.pi / 4096,)), vfpilco.GaussianNoise((2e-3,))))


class FlexibleLink(vfpilco.SimulatedPlant):
    """Positions: the angle of the servo, and the deflection of the link's tip from it, rad.

    J θ'' = K (u - k θ') - b θ' + s α + c α',  J_l (θ'' + α'') = -s α - c α'
    """

    positions = 2
    gain, back_emf = 0.9 * 0.69 * 70 * 0.00767 / 2.6, 70 * 0.00767  # K in N·m/V, k in V·s
    servo_inertia, servo_damping = 2.087e-3, 0.015  # J in kg·m², b in N·m·s
    link_inertia = 0.065 * 0.419**2 / 3  # J_l, kg·m²
    stiffness, link_damping = link_inertia * (2 * math.pi * 3.0) ** 2, 2e-3  # s in N·m, c in N·m·s

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        _, alpha, dtheta, dalpha = state.tolist()
        spring = self.stiffness * alpha + self.link_damping * dalpha
        torque = self.gain * (float(u[0]) - self.back_emf * dtheta) - self.servo_damping * dtheta
        ddtheta = (torque + spring) / self.servo_inertia
        return np.array([dtheta, dalpha, ddtheta, -spring / self.link_inertia - ddtheta])


def cost(q):
    """0 turned and straight, near 1 at the start."""
    return -jnp.expm1(-(((q[..., 0] - GOAL) / 0.8) ** 2) - (q[..., 1] / 0.5) ** 2)


def at_rest(q: np.ndarray) -> bool:
    """The tip within 2° of the goal and bent by at most 1.5° during the last second."""
    last = q[-round(1 / SAMPLING_TIME) :]
    tip = np.abs(last.sum(1) - GOAL) < np.deg2rad(2)
    return bool(np.all(tip & (np.abs(last[:, 1]) < np.deg2rad(1.5))))


task = vfpilco.Task(
    name="flexible-link",
    summary="turn a flexible link by 60° without vibrations, from an encoder and a strain gauge",
    machine=vfpilco.Machine(
        plant=lambda: FlexibleLink(SAMPLING_TIME, SENSOR, start_std=START_STD, substeps=5),
        positions=(vfpilco.Position("servo", "rad", angle=True), vfpilco.Position("bend", "rad", scale=0.2)),
        inputs=(vfpilco.Input("voltage", "V", limit=5.0),),
        sampling_time=SAMPLING_TIME,
        sensor=SENSOR,
    ),
    horizon=100,
    cost=cost,
    start=vfpilco.GaussianStart((0.0, 0.0), START_STD),
    success=at_rest,
    target=(GOAL, 0.0),
)
