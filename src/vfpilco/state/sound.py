"""Which samples of a trial can be learned from: those without a spike of the sensor in what is learned."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from vfpilco.data.trial import Trial
from vfpilco.recordings.spikes import spikes
from vfpilco.state.base import State


def sound(state: State, trial: Trial, t: Int[np.ndarray, "N"]) -> Bool[np.ndarray, "N"]:
    """Which samples `t` of a trial have no spike in their state, nor in the next sample."""
    found, signals = np.zeros(len(trial.q), dtype=bool), state.signals
    for i in signals.free:
        found |= spikes(trial.q[:, i], signals.angles[i])
    if not found.any():
        return np.ones(len(t), dtype=bool)
    return ~np.any([found[np.clip(t + i, 0, trial.steps)] for i in range(-state.longest_memory, 2)], axis=0)
