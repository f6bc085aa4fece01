"""The schedule of an optimisation: phases with ever smaller steps and less dropout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.settings import OptimiserSettings

CHUNK_STEPS, CHUNK_WORK = 25, 50 * 72_000
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


def phases(settings: OptimiserSettings, succeeded: bool = False) -> tuple[Phase, ...]:
    """One half, a quarter and a quarter of the steps, each with smaller steps and less dropout than the one before.

    A policy that has succeeded needs only the last two. With the stop rule "drift" a phase may
    take all steps that are left, and all are made.
    """
    half, quarter = -(-settings.steps // 2), -(-settings.steps // 4)
    first, last = settings.learning_rate, settings.final_learning_rate
    planned = (
        Phase(half, first, settings.dropout),
        Phase(min(quarter, settings.steps - half), float(np.sqrt(first * last)), settings.dropout / 2),
        Phase(max(settings.steps - half - quarter, 0), last, 0.0),
    )
    needed = tuple(phase for phase in planned if phase.steps)
    return needed[1:] if succeeded and len(needed) > 1 and settings.stop_rule == "gain" else needed


def steps_left(settings: OptimiserSettings, phase: Phase, made: int, made_before: int) -> int:
    """Gradient steps that a phase may still make.

    Args:
        settings: How the policy is optimised.
        phase: The phase.
        made: The steps that it has made.
        made_before: The steps of the phases before it.
    """
    return settings.steps - made_before - made if settings.stop_rule == "drift" else phase.steps - made


def chunk_size(simulator: Simulator, settings: OptimiserSettings) -> int:
    """Gradient steps between two checks of the cost: a second or two of work, whatever the size of the problem."""
    work = settings.particles * simulator.horizon * simulator.dynamics.state.signals.d_q
    return int(np.clip(CHUNK_WORK / work, 5, CHUNK_STEPS))
