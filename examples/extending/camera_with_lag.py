"""A sensor with memory: a camera whose images arrive one sample late.

vfpilco learn examples/extending/camera_with_lag.py
"""

from dataclasses import dataclass, replace

import numpy as np

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.tasks.sensors import Sensor


@dataclass(frozen=True)
class LaggingCamera(Sensor):
    """Measures the positions of the sample before, with noise."""

    std: tuple[float, ...]

    def noise(self, random, shape):
        return random.normal(shape) * np.asarray(self.std)

    def begin(self, q):
        return q  # the last image shows the machine at rest

    def observe(self, memory, q, random):
        return memory + self.noise(random, q.shape), q

    def measure(self, memory, q, noise):
        """In the particles there is no lag: the model has learned it, because it was trained on late positions."""
        return q + noise.astype(q.dtype), memory

    def error_std(self, q):
        return np.asarray(self.std)


camera, cartpole = LaggingCamera((1e-3, 2e-3)), vfpilco.task("cartpole")
machine = replace(cartpole.machine, sensor=camera, plant=lambda: CartPole(1 / 30, camera))
task = replace(cartpole, name="cartpole-camera", machine=machine, settings={"m_u": 2})  # inputs act a sample later
