"""Stopping a trial whose measurements leave the band that was predicted for them."""

from __future__ import annotations

import numpy as np

from vfpilco.rollout.band import Band
from vfpilco.tasks.machine import Machine


class Monitor:
    """Called with every measurement of a trial, in the sample loop: a comparison of a few numbers."""

    def __init__(self, band: Band, machine: Machine, probability: float) -> None:
        self.band, self.machine, self.probability = band, machine, probability
        self.sample = 0

    def __call__(self, q: np.ndarray) -> str | None:
        """Why the machine is to be stopped at the measured positions `q`; None while they are as predicted."""
        t = self.sample
        self.sample = t + 1
        if t == 0:
            self.band = self.band.around(q, self.machine.angles)
        low, _, high = self.band
        if t >= len(low) or ((low[t] <= q) & (q <= high[t])).all():
            return None
        return self._reason(t, q)

    def _reason(self, t: int, q: np.ndarray) -> str:
        i = self.band.furthest(t, q)
        position, time = self.machine.positions[i], t * self.machine.sampling_time
        low, high = self.band.low[t, i], self.band.high[t, i]
        return (
            f"{position.name} was measured at {q[i]:.4g} {position.unit} after {time:.3g} s, where {low:.4g} to "
            f"{high:.4g} was predicted with a probability of {self.probability:g} (--abort-outside)"
        )
