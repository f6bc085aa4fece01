"""A ball on a beam: roll it to the middle by turning the servo gear that tilts the beam.

    vfpilco learn examples/machines/ball_and_beam.py

Ball, beam and lever: "Ball & Beam: System Modeling", Control Tutorials for MATLAB and Simulink (University of
Michigan). Servo: Quanser SRV02 in its high gear. Typical values: a potentiometer along the beam with 1 mm of noise, an
encoder of 4096 counts per turn on the gear, an amplifier of 5 V.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.05
START, START_STD = (-0.2, 0.0), (0.01, 0.0)
SENSOR = vfpilco.PerPosition((vfpilco.GaussianNoise((1e-3,)), vfpilco.Quantised((2 * np.pi / 4096,))))


class BallAndBeam(vfpilco.SimulatedPlant):
    """Positions: the ball on the beam, m from its middle, and the angle of the servo gear, rad.

    (I/R² + m) r'' = m r β'² - m g sin β,  sin β = d/L sin θ,  J θ'' = K (u - k θ') - b θ'
    """

    positions = 2
    mass, radius, ball_inertia = 0.11, 0.015, 9.99e-6  # m in kg, R in m, I in kg·m²
    lever, length, gravity = 0.03, 1.0, 9.8  # d and L in m
    gain, back_emf = 0.9 * 0.69 * 70 * 0.00767 / 2.6, 70 * 0.00767  # K in N·m/V, k in V·s
    servo_inertia, servo_damping = 2.087e-3, 0.015  # J in kg·m², b in N·m·s

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        r, theta, dr, dtheta = state.tolist()
        sine = self.lever / self.length * math.sin(theta)
        rate = self.lever / self.length * math.cos(theta) * dtheta / math.sqrt(1 - sine**2)
        ddr = self.mass * (r * rate**2 - self.gravity * sine) / (self.ball_inertia / self.radius**2 + self.mass)
        torque = self.gain * (float(u[0]) - self.back_emf * dtheta) - self.servo_damping * dtheta
        return np.array([dr, dtheta, ddr, torque / self.servo_inertia])


def cost(q):
    """0 in the middle with the beam level, near 1 at the ends."""
    return -jnp.expm1(-((q[..., 0] / 0.25) ** 2) - (q[..., 1] / 3) ** 2)


def in_the_middle(q: np.ndarray) -> bool:
    """Within 2 cm of the middle during the last second."""
    return bool(np.all(np.abs(q[-round(1 / SAMPLING_TIME) :, 0]) < 0.02))


task = vfpilco.Task(
    name="ball-and-beam",
    summary="roll a ball to the middle of a beam, from a potentiometer and an encoder",
    machine=vfpilco.Machine(
        plant=lambda: BallAndBeam(SAMPLING_TIME, SENSOR, start=START, start_std=START_STD, substeps=5),
        positions=(vfpilco.Position("ball", "m", scale=0.25), vfpilco.Position("servo", "rad", angle=True)),
        inputs=(vfpilco.Input("voltage", "V", limit=5.0),),
        sampling_time=SAMPLING_TIME,
        sensor=SENSOR,
    ),
    horizon=100,
    cost=cost,
    start=vfpilco.GaussianStart(START, START_STD),
    success=in_the_middle,
    target=(0.0, None),
    ends=lambda q: abs(q[0]) > 0.48,  # it drops off the beam
)
