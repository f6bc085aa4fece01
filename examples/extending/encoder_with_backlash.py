"""A sensor that depends on the motion: an encoder behind a gear with backlash.

vfpilco learn examples/extending/encoder_with_backlash.py
"""

from dataclasses import dataclass, replace

import numpy as np

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.tasks.sensors import Sensor


@dataclass(frozen=True)
class BacklashEncoder(Sensor):
    """The encoder follows the shaft only when the gap of the gear is used up; it is quantised as well."""

    gap: tuple[float, ...]
    step: tuple[float, ...]

    def noise(self, random, shape):
        return random.uniform(shape, -0.5, 0.5) * np.asarray(self.step)

    def begin(self, q):
        return q  # the gear starts in the middle of its gap

    def measure(self, memory, q, noise):
        half = np.asarray(self.gap, q.dtype) / 2
        follows = q.__array_namespace__().clip(memory, q - half, q + half)
        return follows + noise.astype(q.dtype), follows

    def error_std(self, q):
        return np.hypot(self.gap, self.step) / np.sqrt(12)


encoder, cartpole = BacklashEncoder(gap=(2e-3, 5e-3), step=(5e-4, 1.5e-3)), vfpilco.task("cartpole")
machine = replace(cartpole.machine, sensor=encoder, plant=lambda: CartPole(1 / 30, encoder))
task = replace(cartpole, name="cartpole-backlash", machine=machine)
