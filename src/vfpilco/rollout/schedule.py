"""The schedule of an optimisation: phases with ever smaller steps and less dropout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.settings import OptimiserSettings

CHUNK_STEPS, CHUNK_WORK = 50, 50 * 72_000
"""The most gradient steps between two checks of the cost, and how many particle steps and positions they amount to."""


class Phase(NamedTuple):
    """A part of an optimisation with the same step size and dropout rate throughout."""

    steps: int
    rate: float
    dropout: float
    decay: float = 1.0
    """Factor on the gradient per sample that it is propagated back."""

    def arrays(self, dtype: Any) -> Phase:
        """The same as arrays, for compiled code."""
        return Phase(np.int32(self.steps), *(np.asarray(value, dtype) for value in self[1:]))  # pyright: ignore

    def converged(self, costs: np.ndarray, tolerance: float) -> bool:
        """Whether the cost changed by less than the fraction `tolerance` between the last two fifths of the phase."""
        window = self.steps // 5
        if not tolerance or window < 1 or len(costs) < 2 * window:
            return False
        earlier, later = costs[-2 * window : -window].mean(), costs[-window:].mean()
        return bool(abs(later - earlier) < tolerance * earlier)


def phases(settings: OptimiserSettings) -> tuple[Phase, ...]:
    """One half, a quarter and a quarter of the steps, each with smaller steps and less dropout than the one before."""
    half, quarter = -(-settings.steps // 2), -(-settings.steps // 4)
    first, last = settings.learning_rate, settings.final_learning_rate
    planned = (
        Phase(half, first, settings.dropout),
        Phase(min(quarter, settings.steps - half), float(np.sqrt(first * last)), settings.dropout / 2),
        Phase(max(settings.steps - half - quarter, 0), last, 0.0),
    )
    return tuple(phase for phase in planned if phase.steps)


def chunk_size(simulator: Simulator, settings: OptimiserSettings) -> int:
    """Gradient steps between two checks of the cost: a second or two of work, whatever the size of the problem."""
    work = settings.particles * simulator.horizon * simulator.dynamics.state.signals.d_q
    return int(np.clip(CHUNK_WORK / work, 5, CHUNK_STEPS))
