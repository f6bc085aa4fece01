"""A cart with a pole as a plant on TCP, in plain Python: replace the class with your machine.

    cp -r src/vfpilco/plants/serve examples/plant.py rig/      # nothing else is needed on the computer of the rig
    python rig/plant.py --realtime

It is the plant of the built-in task `cartpole`. The protocol is described in docs/reference/protocol.md.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
from collections.abc import Sequence
from math import cos, sin

try:
    from serve import serve  # copied beside this file
except ModuleNotFoundError:
    from vfpilco.plants.serve import serve

SAMPLING_TIME = 1 / 30
NOISE = (1e-3, 2e-3)  # of the sensors, in m and rad
SUBSTEPS = 20


class CartPole:
    """A cart on a rail, driven by a force, with a pole hanging from it: positions p and alpha, 0 hanging down."""

    def __init__(self, noisy: bool) -> None:
        self.noisy = noisy
        self.random = random.Random()
        self.state = [0.0, 0.0, 0.0, 0.0]

    def reset(self, seed: int) -> list[float]:
        """Go to the start and return the positions measured there; a real machine ignores the seed."""
        self.random.seed(seed)
        self.state = [0.0, 0.0, 0.0, 0.0]
        return self.measured()

    def step(self, u: Sequence[float]) -> list[float]:
        """Hold the force for one sampling time and return the positions measured at its end."""
        for _ in range(SUBSTEPS):
            self.state = runge_kutta(self.state, u[0], SAMPLING_TIME / SUBSTEPS)
        return self.measured()

    def stop(self) -> None:
        """Apply the safe input; called at the end of every trial, whatever happened, and perhaps twice."""

    def measured(self) -> list[float]:
        """The positions as the sensors measure them."""
        if not self.noisy:
            return self.state[:2]
        return [q + self.random.gauss(0, std) for q, std in zip(self.state, NOISE)]  # noqa: B905


def derivative(state: list[float], force: float) -> list[float]:
    """The time derivatives of p, alpha and their velocities; see vfpilco/machines/cartpole/plant.py."""
    _, alpha, dp, dalpha = state
    cart, pole, length, friction, gravity = 0.5, 0.5, 0.5, 0.1, 9.81
    s, c, push = sin(alpha), cos(alpha), force - friction * dp
    d = 4 * (cart + pole) - 3 * pole * c**2
    ddp = (2 * pole * length * dalpha**2 * s + 3 * pole * gravity * s * c + 4 * push) / d
    ddalpha = -3 * pole * length * dalpha**2 * s * c - 6 * (cart + pole) * gravity * s - 6 * push * c
    return [dp, dalpha, ddp, ddalpha / (length * d)]


def runge_kutta(x: list[float], force: float, h: float) -> list[float]:
    """One classical Runge-Kutta step of length h."""

    def after(part: float, change: list[float]) -> list[float]:
        return [value + part * k for value, k in zip(x, change)]  # noqa: B905

    k1 = derivative(x, force)
    k2 = derivative(after(h / 2, k1), force)
    k3 = derivative(after(h / 2, k2), force)
    k4 = derivative(after(h, k3), force)
    return after(h / 6, [a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4)])  # noqa: B905


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A cart with a pole on TCP.")
    parser.add_argument("--address", default="127.0.0.1:5555", help="host:port to listen on; port 0 takes a free one")
    parser.add_argument("--patience", type=float, default=1.0, help="seconds without an input until it stops")
    parser.add_argument("--realtime", action="store_true", help="take as long for a step as a machine would")
    parser.add_argument("--noiseless", action="store_true", help="measure exactly")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # End without an error; the machine is stopped anyway.
    plant = CartPole(noisy=not options.noiseless)
    with contextlib.suppress(KeyboardInterrupt):
        serve(
            plant,
            positions=["p", "alpha"],
            inputs=["force"],
            limits=[10.0],
            sampling_time=SAMPLING_TIME,
            address=options.address,
            patience=options.patience,
            realtime=options.realtime,
        )
