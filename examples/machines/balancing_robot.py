"""A two-wheeled robot: balance it, and bring it back to where it started.

    vfpilco learn examples/machines/balancing_robot.py

Body, wheels and motors: Y. Yamamoto, "NXTway-GS Model-Based Design" (2008), the LEGO Mindstorms robot. Typical values:
encoders of 360 counts per turn between wheels and body, 3 mrad of noise of the pitch from an inertial unit, a battery
of 8 V, a start within a few degrees of upright, held by hand.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.02
START_STD = (0.0, 0.03)
SENSOR = vfpilco.PerPosition((vfpilco.Quantised((2 * np.pi / 360,)), vfpilco.GaussianNoise((3e-3,))))
RADIUS = 0.04


class BalancingRobot(vfpilco.SimulatedPlant):
    """Positions: the wheels' angle relative to the body, and the pitch of the body, 0 upright, rad.

    With the wheels' own angle θ = φ + ψ, torque τ = α u - β φ' of each motor, and E = 2 J_m of both rotors:

        ((2m + M) R² + 2 J_w + E) θ'' + (M L R cos ψ - E) ψ'' - M L R ψ'² sin ψ = 2τ
        (M L R cos ψ - E) θ'' + (M L² + J + E) ψ'' - M g L sin ψ = -2τ
    """

    positions = 2
    wheel_mass, body_mass, lever, gravity = 0.03, 0.6, 0.072, 9.81  # m and M in kg, L in m
    wheel_inertia, body_inertia, rotors = 0.03 * RADIUS**2 / 2, 0.6 * 0.072**2 / 3, 2e-5  # J_w, J, E, kg·m²
    alpha, beta = 0.317 / 6.69, 0.317 * 0.468 / 6.69 + 0.0022  # N·m/V, N·m·s

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        _, psi, dphi, dpsi = state.tolist()
        mlr = self.body_mass * self.lever * RADIUS
        a = (2 * self.wheel_mass + self.body_mass) * RADIUS**2 + 2 * self.wheel_inertia + self.rotors
        b = mlr * math.cos(psi) - self.rotors
        c = self.body_mass * self.lever**2 + self.body_inertia + self.rotors
        torque = 2 * (self.alpha * float(u[0]) - self.beta * dphi)
        on_wheels = torque + mlr * dpsi**2 * math.sin(psi)
        on_body = self.body_mass * self.gravity * self.lever * math.sin(psi) - torque
        ddtheta, ddpsi = (c * on_wheels - b * on_body) / (a * c - b**2), (a * on_body - b * on_wheels) / (a * c - b**2)
        return np.array([dphi, dpsi, ddtheta - ddpsi, ddpsi])


def cost(q):
    """0 upright at the start; the robot has travelled R (φ + ψ)."""
    return -jnp.expm1(-((q[..., 1] / 0.3) ** 2) - (RADIUS * (q[..., 0] + q[..., 1]) / 0.3) ** 2)


def balanced(q: np.ndarray) -> bool:
    """Within 5° of upright and 5 cm of the start during the last second."""
    last = q[-round(1 / SAMPLING_TIME) :]
    return bool(np.all((np.abs(last[:, 1]) < np.deg2rad(5)) & (np.abs(RADIUS * last.sum(1)) < 0.05)))


task = vfpilco.Task(
    name="balancing-robot",
    summary="balance a two-wheeled robot where it started, from wheel encoders and a noisy pitch",
    machine=vfpilco.Machine(
        plant=lambda: BalancingRobot(SAMPLING_TIME, SENSOR, start_std=START_STD, substeps=5),
        positions=(vfpilco.Position("wheels", "rad", scale=5.0), vfpilco.Position("pitch", "rad", angle=True)),
        inputs=(vfpilco.Input("voltage", "V", limit=8.0),),
        sampling_time=SAMPLING_TIME,
        sensor=SENSOR,
    ),
    horizon=125,
    cost=cost,
    start=vfpilco.GaussianStart((0.0, 0.0), START_STD),
    success=balanced,
    target=(0.0, 0.0),
    ends=lambda q: abs(q[1]) > 0.7,  # it has fallen
)
