"""An exploration of your own: a chirp, which sweeps through the frequencies of the machine.

vfpilco learn examples/extending/exploration.py
"""

from dataclasses import dataclass, replace

import numpy as np

import vfpilco


@dataclass(frozen=True)
class Chirp:
    """A sine whose frequency grows from `low` to `high` during the trial, with a random phase for every input."""

    low: float = 0.2
    """Hz."""
    high: float = 3.0
    """Hz."""
    amplitude: float = 0.7
    """As a fraction of the input limit."""

    def inputs(self, rng, steps, sampling_time, limits):
        t = np.arange(steps)[:, None] * sampling_time
        rate = (self.high - self.low) / (steps * sampling_time)
        phase = rng.uniform(0, 2 * np.pi, size=len(limits))
        return self.amplitude * limits * np.sin(2 * np.pi * (self.low + rate * t / 2) * t + phase)


task = replace(vfpilco.task("cartpole"), name="cartpole-chirp", exploration=Chirp())
