"""A pneumatic cylinder with a slow valve and sticking seals: bring the piston to a place and keep it there.

    vfpilco learn examples/machines/pneumatic_positioner.py

Pressures of two chambers as in E. Richer and Y. Hurmuzlu, "A High Performance Pneumatic Force Actuator System: Part I"
(2000), flow through the valve after ISO 6358, friction after C. Canudas de Wit and others, "A New Model for Control of
Systems with Friction" (1995). All numbers are typical values of a cylinder of 32 mm bore and 20 cm stroke with a valve
of 100 l/min: supply of 7 bar, 2 kg of load, and a linear potentiometer with 0.2 mm of noise.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.025
START, GOAL = -0.05, 0.04
SENSOR = vfpilco.GaussianNoise((2e-4,))


class PneumaticPositioner(vfpilco.SimulatedPlant):
    """Position: the piston, m from the middle. The state also has valve, two pressures and bristles of the seals."""

    positions = 1
    hidden = (0.0, 4e5, 4e5, 0.0)
    mass, area, reach, clearance = 2.0, 8.04e-4, 0.1, 0.01  # kg, m², m, m
    supply, outside, conductance, critical = 7e5, 1e5, 4e-9 * 1.185, 0.3  # Pa, Pa, kg/(s·Pa), 1
    lag, adiabatic, gas = 0.05, 1.4, 287 * 293.0  # of the valve, s; 1; R T in J/kg
    coulomb, stiction, stribeck = 25.0, 40.0, 0.02  # N, N, m/s
    bristles, bristle_damping, viscous = 5e4, 300.0, 40.0  # N/m, N·s/m, N·s/m

    def flow(self, opening: float, pressure: float) -> float:
        """Air into a chamber, kg/s: from the supply through a positive opening, out through a negative one."""
        up, down = (self.supply, pressure) if opening > 0 else (pressure, self.outside)
        ratio = max(down / up - self.critical, 0.0) / (1 - self.critical)
        return self.conductance * opening * up * math.sqrt(max(1 - ratio**2, 0.0))

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, v, valve, left, right, z = state.tolist()
        level = self.coulomb + (self.stiction - self.coulomb) * math.exp(-((v / self.stribeck) ** 2))
        dz = v - self.bristles * abs(v) / level * z
        force = self.area * (left - right) - self.bristles * z - self.bristle_damping * dz - self.viscous * v
        beyond = max(abs(x) - self.reach, 0.0)  # rubber buffers at the ends of the stroke
        force -= math.copysign(1e5 * beyond, x) + (200.0 * v if beyond else 0.0)
        rooms = [self.area * (self.reach + self.clearance + side * x) for side in (1, -1)]
        dleft = self.adiabatic / rooms[0] * (self.gas * self.flow(valve, left) - left * self.area * v)
        dright = self.adiabatic / rooms[1] * (self.gas * self.flow(-valve, right) + right * self.area * v)
        return np.array([v, force / self.mass, (float(u[0]) / 5 - valve) / self.lag, dleft, dright, dz])


def cost(q):
    """0 at the goal, near 1 at the start."""
    return -jnp.expm1(-(((q[..., 0] - GOAL) / 0.06) ** 2))


task = vfpilco.Task(
    name="pneumatic-positioner",
    summary="position a pneumatic cylinder with a slow valve and stiction, from a potentiometer",
    machine=vfpilco.Machine(
        plant=lambda: PneumaticPositioner(SAMPLING_TIME, SENSOR, start=(START,), start_std=2e-3, substeps=20),
        positions=(vfpilco.Position("piston", "m", scale=0.05),),
        inputs=(vfpilco.Input("valve", "V", limit=5.0),),
        sampling_time=SAMPLING_TIME,
        sensor=SENSOR,
    ),
    horizon=100,
    cost=cost,
    start=vfpilco.GaussianStart((START,), (2e-3,)),
    target=(GOAL,),
    success=lambda q: bool(np.all(np.abs(q[-round(0.5 / SAMPLING_TIME) :, 0] - GOAL) < 2e-3)),
)
