"""A two-axis helicopter: turn it by 45° while its nose stays level.

    vfpilco learn examples/machines/helicopter.py

Inertias, thrusts and damping of the Quanser 2 DOF Helicopter, from the set-up files of its control laboratory. The
inputs are added to the voltages of the front and the back motor at which the body hovers. Typical values: their limits
of 10 V, encoders of 4096 counts per turn in pitch and 8192 in yaw, a start within a few degrees of level.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.04
GOAL = math.pi / 4
START_STD = (0.02, 0.02)
ENCODERS = vfpilco.Quantised((2 * np.pi / 4096, 2 * np.pi / 8192))


class Helicopter(vfpilco.SimulatedPlant):
    """Positions: pitch, positive nose up, and yaw, rad. With the voltages v of both motors and K of their torques:

    (J_p + m l²) θ'' = K_p v - m g l cos θ - B_p θ' - m l² ψ'² sin θ cos θ
    (J_y + m l² cos²θ) ψ'' = K_y v - B_y ψ' + 2 m l² ψ' θ' sin θ cos θ
    """

    positions = 2
    mass, lever, gravity = 1.3872, 0.186, 9.81  # m in kg, l in m
    pitch_inertia, yaw_inertia = 0.0384, 0.0432  # J_p and J_y, kg·m²
    pitch_damping, yaw_damping = 0.8, 0.318  # B_p and B_y, N·m·s
    torques = np.array([[0.204, 0.0068], [0.0219, 0.072]])  # K_p and K_y, N·m/V

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.hover = np.linalg.solve(self.torques, [self.mass * self.gravity * self.lever, 0.0])  # V

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        theta, _, dtheta, dpsi = state.tolist()
        sin, cos, ml2 = math.sin(theta), math.cos(theta), self.mass * self.lever**2
        on_pitch, on_yaw = (self.torques @ (self.hover + u)).tolist()
        on_pitch -= self.mass * self.gravity * self.lever * cos + self.pitch_damping * dtheta
        on_pitch -= ml2 * dpsi**2 * sin * cos
        on_yaw += 2 * ml2 * dpsi * dtheta * sin * cos - self.yaw_damping * dpsi
        accelerations = on_pitch / (self.pitch_inertia + ml2), on_yaw / (self.yaw_inertia + ml2 * cos**2)
        return np.array([dtheta, dpsi, *accelerations])


def cost(q):
    """0 level and turned, near 1 at the start."""
    return -jnp.expm1(-((q[..., 0] / 0.5) ** 2) - ((q[..., 1] - GOAL) / 0.6) ** 2)


def turned(q: np.ndarray) -> bool:
    """Pitch and yaw within 3° of the goal during the last second."""
    return bool(np.all(np.abs(q[-round(1 / SAMPLING_TIME) :] - [0.0, GOAL]) < np.deg2rad(3)))


task = vfpilco.Task(
    name="helicopter",
    summary="turn a two-axis helicopter by 45° and keep it level, from two encoders",
    machine=vfpilco.Machine(
        plant=lambda: Helicopter(SAMPLING_TIME, ENCODERS, start_std=START_STD, substeps=5),
        positions=(vfpilco.Position("pitch", "rad", angle=True), vfpilco.Position("yaw", "rad", angle=True)),
        inputs=(vfpilco.Input("front", "V", limit=10.0), vfpilco.Input("back", "V", limit=10.0)),
        sampling_time=SAMPLING_TIME,
        sensor=ENCODERS,
    ),
    horizon=100,
    cost=cost,
    start=vfpilco.GaussianStart((0.0, 0.0), START_STD),
    success=turned,
    target=(0.0, GOAL),
    ends=lambda q: abs(q[0]) > 0.7,  # the body touches its stops at ±40°
)
