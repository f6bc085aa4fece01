"""A slider between two end stops: park it 1 cm in front of one of them.

    vfpilco learn examples/machines/end_stop_slider.py

Cart, motor, gear and encoder of the Quanser IP02 with its extra weight, from its set-up files.
Typical values: rubber buffers 20 cm to both sides, friction of the rail, an amplifier of 6 V.
"""

import math

import jax.numpy as jnp
import numpy as np

import vfpilco

SAMPLING_TIME = 0.04
STOP, GOAL = 0.2, 0.19
START_STD = (0.005,)
ENCODER = vfpilco.Quantised((22.75e-6,))


class EndStopSlider(vfpilco.SimulatedPlant):
    """Position: the slider, m from the middle between the stops.

    M x'' = K (u - k x') - b x' - c tanh(x'/v), and the force of a buffer where it touches one
    """

    positions = 1
    mass = 0.57 + 0.37 + 3.71**2 * 3.9e-7 / 6.35e-3**2  # M in kg: cart, weight, and the rotor through its gear
    gain, back_emf = 3.71 * 0.00767 / (2.6 * 6.35e-3), 3.71 * 0.00767 / 6.35e-3  # K in N/V, k in V·s/m
    damping, coulomb, smoothing = 5.4, 0.5, 2e-3  # b in N·s/m, c in N, v in m/s
    stiffness, loss = 1e4, 2.0  # of the buffers: N/m, and s/m of the speed at which they are hit

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, v = state.tolist()
        force = self.gain * (float(u[0]) - self.back_emf * v) - self.damping * v
        force -= self.coulomb * math.tanh(v / self.smoothing)
        side = math.copysign(1.0, x)
        deep = max(side * x - STOP, 0.0)
        force -= side * self.stiffness * deep * max(1 + self.loss * side * v, 0.0)  # it pushes, it does not pull
        return np.array([v, force / self.mass])


def cost(q):
    """0 at the goal, near 1 at the start and beyond."""
    return -jnp.expm1(-(((q[..., 0] - GOAL) / 0.12) ** 2))


def parked(q: np.ndarray) -> bool:
    """Within 5 mm of the goal during the last second."""
    return bool(np.all(np.abs(q[-round(1 / SAMPLING_TIME) :, 0] - GOAL) < 5e-3))


task = vfpilco.Task(
    name="end-stop-slider",
    summary="park a slider 1 cm in front of its end stop, from an encoder",
    machine=vfpilco.Machine(
        plant=lambda: EndStopSlider(SAMPLING_TIME, ENCODER, start_std=START_STD, substeps=20),
        positions=(vfpilco.Position("slider", "m", scale=0.1),),
        inputs=(vfpilco.Input("voltage", "V", limit=6.0),),
        sampling_time=SAMPLING_TIME,
        sensor=ENCODER,
    ),
    horizon=75,
    cost=cost,
    start=vfpilco.GaussianStart((0.0,), START_STD),
    success=parked,
    target=(GOAL,),
)
