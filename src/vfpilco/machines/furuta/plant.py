"""The Furuta pendulum: a pendulum at the end of an arm that a motor turns in the plane."""

from __future__ import annotations

import math

import numpy as np

from vfpilco.plants.simulation import SimulatedPlant
from vfpilco.tasks.sensors import Sensor


class Furuta(SimulatedPlant):
    """A rotary arm driven by a DC motor, with a pendulum that swings freely at its end (after the QUBE-Servo 2).

    ## Input
    | name    | unit | limit |
    |---------|------|-------|
    | voltage | V    | ±10   |

    ## Positions
    | name     | unit | meaning                                           |
    |----------|------|---------------------------------------------------|
    | arm      | rad  | angle of the arm                                  |
    | pendulum | rad  | angle of the pendulum, 0 hanging down, ±π upright |

    ## Start
    At rest at the origin, the pendulum hanging.

    ## Equations
    Arm length r, arm inertia J_r = m_r r²/3, pendulum length L and mass m, l = L/2, J = m L²/3, both slender rods:

        (J_r + m r² + J sin²α) θ'' + m r l cos α α'' + 2 J sin α cos α θ' α' - m r l sin α α'² = τ - b_r θ' - c sign θ'
        m r l cos α θ'' + J α'' - J sin α cos α θ'² + m g l sin α = -b α'
        τ = k (v - k θ') / R

    ## Faults
    Coulomb friction c on the arm; a first-order lag of the voltage v behind the input; input latency and jitter of the
    sampling time.
    """

    positions = 2
    resistance = 8.4
    motor_constant = 0.042
    arm_mass, arm_length, arm_damping = 0.095, 0.085, 2.7e-4
    pendulum_mass, pendulum_length, pendulum_damping = 0.024, 0.129, 5e-5
    gravity = 9.81
    limit = 10.0
    """The largest voltage that the amplifier gives, V."""

    def __init__(
        self,
        sampling_time: float,
        sensor: Sensor,
        *,
        coulomb: float = 1e-3,
        lag: float = 0.0,
        latency: float = 5e-3,
        jitter: float = 1e-3,
    ) -> None:
        super().__init__(sampling_time, sensor, substeps=40, latency=latency, jitter=jitter)
        self.coulomb, self.lag = coulomb, lag
        self.voltage = 0.0

    def reset(self, seed: int) -> np.ndarray:
        self.voltage = 0.0
        return super().reset(seed)

    def _move(self, u: np.ndarray, duration: float) -> None:
        goal = float(np.clip(u[0], -self.limit, self.limit))
        if not self.lag:
            self.voltage = goal
            return super()._move(np.array([goal]), duration)
        steps = max(round(self.substeps * duration / self.sampling_time), 1)
        h = duration / steps
        left = math.exp(-h / self.lag)
        for _ in range(steps):
            missing = self.voltage - goal
            super()._move(np.array([goal + missing * (1 - left) * self.lag / h]), h)  # its mean over the step
            self.voltage = goal + missing * left
        return None

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        _, alpha, dtheta, dalpha = state.tolist()
        sin, cos = math.sin(alpha), math.cos(alpha)
        m, r, half = self.pendulum_mass, self.arm_length, self.pendulum_length / 2
        inertia = m * self.pendulum_length**2 / 3
        torque = self.motor_constant * (float(u[0]) - self.motor_constant * dtheta) / self.resistance
        # A tanh in place of the sign: smooth enough to be integrated, within a degree per second of rest.
        friction = self.arm_damping * dtheta + self.coulomb * math.tanh(dtheta / 0.02)
        a = self.arm_mass * r**2 / 3 + m * r**2 + inertia * sin**2
        b = m * r * half * cos
        on_arm = torque - friction - 2 * inertia * sin * cos * dtheta * dalpha + m * r * half * sin * dalpha**2
        on_pendulum = inertia * sin * cos * dtheta**2 - m * self.gravity * half * sin - self.pendulum_damping * dalpha
        determinant = a * inertia - b * b
        return np.array(
            [
                dtheta,
                dalpha,
                (inertia * on_arm - b * on_pendulum) / determinant,
                (a * on_pendulum - b * on_arm) / determinant,
            ]
        )
