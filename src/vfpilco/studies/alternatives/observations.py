"""What a model-free learner observes: a window of measured positions and past inputs, in units of about 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine

WINDOW = VelocityFree(m_q=3, m_u=3, policy_m_u=3)
"""The last four positions, as the newest one and three differences, and the last three inputs."""
RATE = 0.1
"""The unit of a difference between two samples, relative to that of its position."""


class Observations:
    """Turns measurements into observations, one sample at a time; `reset` begins a trial."""

    def __init__(self, machine: Machine) -> None:
        self.state = WINDOW.bind(Signals.of(machine))
        scales = [1.0 if p.angle else p.scale for p in machine.positions]
        units = {
            "position": [p.scale for p in machine.positions if not p.angle],
            "circle": [1.0],
            "rate": [RATE * scale for scale in scales],
            "input": machine.limits.tolist(),
        }
        seen = dict.fromkeys(units, 0)
        self.units = np.ones(len(self.state.policy_kinds()))
        for i, kind in enumerate(self.state.policy_kinds()):
            self.units[i] = units[kind][seen[kind] % len(units[kind])]
            seen[kind] += 1
        self.window: Any = None

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.units)

    def reset(self, q: np.ndarray) -> np.ndarray:
        """The first observation of a trial."""
        self.window = self.state.begin(np.asarray(q, dtype=float))
        return self._observation()

    def next(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The observation after `u` was applied and `q` was measured."""
        self.window = self.state.push(self.window, np.asarray(q, dtype=float), np.asarray(u, dtype=float))
        return self._observation()

    def _observation(self) -> np.ndarray:
        return (self.state.policy_input(self.window) / self.units).astype(np.float32)
