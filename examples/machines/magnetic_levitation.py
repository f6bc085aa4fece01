"""Magnetic levitation: hold a steel ball in the air below an electromagnet.

    vfpilco learn examples/machines/magnetic_levitation.py

Ball, coil and magnet: "Introduction: State-Space Methods for Controller Design", Control Tutorials for MATLAB and
Simulink (University of Michigan). Typical values: an optical sensor with 0.02 mm of noise, an amplifier of ±6 V around
the voltage that holds the ball, a start within half a millimetre of the set point, on a stick that is then removed.
"""

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.01
START_STD = (0.25,)
SENSOR = vfpilco.GaussianNoise((0.02,))


class MagneticLevitation(vfpilco.SimulatedPlant):
    """Position: the ball below its set point, mm; the state also has the current. With the gap h between the two:

    m h'' = m g - K i² / h,  L i' = v + u - R i
    """

    positions = 1
    mass, force_constant, gravity = 0.05, 1e-4, 9.81  # m in kg, K in N·m/A²
    resistance, inductance = 1.0, 0.01  # R in Ω, L in H
    gap = 0.01  # at the set point, m
    hidden = ((mass * gravity * gap / force_constant) ** 0.5,)  # the current that holds the ball there, A

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        below, speed, current = state.tolist()
        gap = max(self.gap + 1e-3 * below, 1e-3)  # a ball at the magnet stays outside of it
        acceleration = self.gravity - self.force_constant * current**2 / (gap * self.mass)
        voltage = self.resistance * self.hidden[0] + float(u[0])
        return np.array([speed, 1e3 * acceleration, (voltage - self.resistance * current) / self.inductance])


def cost(q):
    """0 at the set point, 1 where the ball has dropped or hit the magnet."""
    return -jnp.expm1(-((q[..., 0] / 2.0) ** 2))


def held(q: np.ndarray) -> bool:
    """Within 1 mm of the set point during the last half of the trial."""
    return bool(np.all(np.abs(q[len(q) // 2 :, 0]) < 1.0))


task = vfpilco.Task(
    name="magnetic-levitation",
    summary="hold a steel ball below an electromagnet, from an optical sensor",
    machine=vfpilco.Machine(
        plant=lambda: MagneticLevitation(SAMPLING_TIME, SENSOR, start_std=START_STD, substeps=5),
        positions=(vfpilco.Position("ball", "mm", scale=2.0),),
        inputs=(vfpilco.Input("voltage", "V", limit=6.0),),
        sampling_time=SAMPLING_TIME,
        sensor=SENSOR,
    ),
    horizon=150,
    cost=cost,
    start=vfpilco.GaussianStart((0.0,), START_STD),
    success=held,
    target=(0.0,),
    ends=lambda q: abs(q[0]) > 6.0,  # it falls out of the field, or sticks to the magnet
)
