"""Stopping a trial whose measurements leave the band that was predicted for them."""

from __future__ import annotations

import numpy as np

from vfpilco.rollout.band import Band
from vfpilco.tasks.machine import Machine


class Monitor:
    """Called with every measurement of a trial, in the sample loop: a comparison of a few numbers."""

    def __init__(self, band: Band, machine: Machine, probability: float) -> None:
        self.band, self.machine, self.probability = band, machine, probability
        self.low, self.high = band.low, band.high
        self.sample = 0

    def __call__(self, q: np.ndarray) -> str | None:
        """Why the machine is to be stopped at the measured positions `q`; None while they are as predicted."""
        t = self.sample
        self.sample = t + 1
        if t == 0:
            self._begin(q)
        if t >= len(self.low) or ((self.low[t] <= q) & (q <= self.high[t])).all():
            return None
        return self._reason(t, q)

    def _begin(self, q: np.ndarray) -> None:
        """Shift the band of every angle by full turns to where the trial begins."""
        turns = np.round((q - self.band.mean[0]) / (2 * np.pi)) * np.asarray(self.machine.angles)
        self.low, self.high = self.band.low + 2 * np.pi * turns, self.band.high + 2 * np.pi * turns

    def _reason(self, t: int, q: np.ndarray) -> str:
        low, high = self.low[t], self.high[t]
        i = int(np.argmax(np.maximum(low - q, q - high) / np.maximum(high - low, 1e-300)))  # furthest, in its own band
        position, time = self.machine.positions[i], t * self.machine.sampling_time
        return (
            f"{position.name} was measured at {q[i]:.4g} {position.unit} after {time:.3g} s, where {low[i]:.4g} to "
            f"{high[i]:.4g} was predicted with a probability of {self.probability:g} (--abort-outside)"
        )
