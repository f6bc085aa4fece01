"""What a model does not explain: what remains of a trial it has not seen, and what that resembles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.model import Model
from vfpilco.recordings.stops import NEAR
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine
from vfpilco.trials.exploring import FASTEST

RESEMBLANCE = 0.2
"""The fraction of the variance of the errors that a cause has to account for, more than by chance."""
FEWEST = 20
"""Samples of a trial with fewer than this say too little."""
REACH = 3
"""How many samples before its memory are compared with its errors."""


@dataclass(frozen=True)
class Suspect:
    """Something that a model may lack: what it would leave behind, and what to do about it."""

    columns: Float[np.ndarray, "N k"]
    words: str


def unexplained(model: Model, dynamics: Dynamics, trial: Trial, machine: Machine) -> str | None:
    """What may be missing in a model, in a sentence; None if its errors in a trial have no structure.

    A GP takes what it cannot explain for noise, so the size of its errors says little. But noise resembles nothing:
    errors one sample ahead are compared with what a longer delay, a motion that is not measured, dry friction or a
    contact would leave behind.

    Args:
        model: The model.
        dynamics: How its GPs see the machine.
        trial: A trial that it has not seen.
        machine: The machine.
    """
    state = dynamics.state
    if not isinstance(state, VelocityFree) or trial.steps < state.longest_memory + REACH + FEWEST:
        return None
    data, pairs = dynamics.training_set(trial), state.pairs(trial)
    late = pairs.t >= state.longest_memory + REACH
    if len(data.x) != len(pairs.t):  # samples at end stops are left out
        return None
    mean, variance = model.predict(data.x)
    errors = ((data.y - data.prior - mean) / np.sqrt(variance + model.noise**2))[late]
    suspects = _suspects(trial, pairs.t[late], state)
    likeness = np.array([[_explained(suspect.columns, column) for suspect in suspects] for column in errors.T])
    worst, best = np.unravel_index(np.argmax(likeness), likeness.shape)
    if likeness[worst, best] < RESEMBLANCE:
        return None
    position = machine.positions[np.arange(len(machine.positions))[state.signals.predicted][worst]]
    turned = np.abs(np.diff(trial.q, axis=0))[:, list(machine.angles)]
    too_fast = turned.size and turned.max() > FASTEST
    cause = f"angles turn by up to {turned.max():.2g} rad between samples: sample faster." if too_fast else ""
    return f"The model does not explain how {position.name} moves: {cause or suspects[best].words}"


def _suspects(trial: Trial, t: np.ndarray, state: VelocityFree) -> list[Suspect]:
    """What may be missing, with what it would leave behind at the samples `t`."""
    q, u = trial.q, trial.u
    inputs = np.concatenate([u[t - state.m_u - k] for k in range(1, REACH + 1)], axis=1)
    moves = np.diff(q, axis=0)
    older = np.concatenate([moves[t - state.m_q - k] for k in range(1, REACH + 1)], axis=1)
    rate = moves[t - 1]
    slow = np.median(np.abs(moves), axis=0) / 4 + 1e-12
    friction = np.tanh(rate / slow)
    low, high = q.min(0), q.max(0)
    near = NEAR * (high - low)
    contact = np.concatenate([q[t] >= high - near, q[t] <= low + near], axis=1).astype(float)
    return [
        Suspect(inputs, f"its errors follow earlier inputs. Is the delay longer? Try --m-u {state.m_u + 1} or more."),
        Suspect(older, "its errors follow earlier motion. Does something move that is not measured?"),
        Suspect(friction, "its errors follow the direction of the motion. Is there strong dry friction?"),
        Suspect(contact, "its errors are at the ends of the range. Does the machine touch something there?"),
    ]


def _explained(columns: Float[np.ndarray, "N k"], errors: Float[np.ndarray, "N"]) -> float:
    """The fraction of the variance of the errors that a linear model of the columns explains, adjusted for chance."""
    x = np.column_stack([np.ones(len(columns)), columns])
    weights, *_ = np.linalg.lstsq(x, errors, rcond=None)
    n, k = x.shape
    left, total = np.sum((errors - x @ weights) ** 2), np.sum((errors - errors.mean()) ** 2)
    return float(1 - left / max(total, 1e-300) * (n - 1) / max(n - k, 1))
