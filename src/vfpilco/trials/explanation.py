"""After a trial, in words: what was predicted, what happened and why, and what the next trial changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from vfpilco.common.text import short
from vfpilco.data.results import Cause, Evaluated, Explanation, Forecast
from vfpilco.data.risk import percent
from vfpilco.data.trial import Trial
from vfpilco.rollout.band import Band
from vfpilco.tasks.machine import Machine

SURE = 0.99
"""A trial as predicted stays in its band with this probability; one that leaves it contradicts the model."""
LIKELY, HARDLY = 0.5, 0.05
"""Success is expected from this predicted probability on, and hardly possible below that one."""


def explain(
    machine: Machine,
    executed: Trial,
    evaluated: Evaluated,
    expected: Forecast,
    band: Band,
    earlier: Sequence[Trial] = (),
) -> Explanation:
    """Why a trial went as it did.

    Args:
        machine: The machine.
        executed: What was measured.
        evaluated: Its cost and success.
        expected: What was predicted.
        band: Where the measurements were predicted to be in the complete trial, with the probability `SURE`.
        earlier: The trials that the model was learned from.
    """
    band = band.around(executed.q[0], machine.angles)
    left = band.first_outside(executed.q)
    if left is not None:
        t, i = left
        words = _wrong_model(machine, executed.q[t], band, t, i, earlier)
        found = Explanation("model", words, position=machine.positions[i].name, time_s=t * machine.sampling_time)
    else:
        found = Explanation(*_inside(evaluated, expected))
    if not expected.risk.ranges or executed.steps >= len(band.low) - 1:
        return found
    risk = f" The trial ended early; a risk of {percent(expected.risk.leaving)} of leaving a safe range was predicted."
    return replace(found, words=found.words + risk)


def _wrong_model(
    machine: Machine, q: Float[np.ndarray, "d_q"], band: Band, t: int, i: int, earlier: Sequence[Trial]
) -> str:
    """Where the model was wrong: the first measurement outside the band, and the other positions there."""
    positions = machine.positions
    others = [
        f"{p.name} at {value:.2g} {p.unit}" for p, value in zip(positions, q, strict=True) if p is not positions[i]
    ]
    beside = f" (with {', '.join(others)})" if others else ""
    new = ", where no trial had been before" if _is_new(q, earlier) else ""
    return (
        f"The model was wrong from {t * machine.sampling_time:.2g} s on: {positions[i].name} was {q[i]:.2g} "
        f"{positions[i].unit} and {band.low[t, i]:.2g} to {band.high[t, i]:.2g} was predicted{beside}{new}."
    )


def _is_new(q: Float[np.ndarray, "d_q"], earlier: Sequence[Trial]) -> bool:
    """Whether a position is outside the range of all trials before."""
    if not earlier:
        return False
    known = np.concatenate([trial.q for trial in earlier])
    return bool(np.any((q < known.min(0)) | (q > known.max(0))))


def _inside(evaluated: Evaluated, expected: Forecast) -> tuple[Cause, str]:
    """Why a trial went as it did whose positions stayed in their bands."""
    cost, band, chance = evaluated.cost, expected.predicted_cost, expected.success_chance
    if cost > band.high:
        return "model", (
            f"The model was too optimistic: the cost was {short(cost)} and {short(band.low)} to {short(band.high)} was "
            "predicted, although every position stayed in its predicted band."
        )
    if chance is None:
        return "as predicted", "The trial went as predicted."
    if evaluated.success:
        if chance >= LIKELY:
            return "as predicted", "The trial succeeded, as predicted."
        return "uncertain model", f"The trial succeeded although only {percent(chance)} of the particles did."
    if chance >= LIKELY:
        return "noise", (
            f"The model was not wrong, noise decided: success was predicted with {percent(chance)}, and every position "
            "stayed in its predicted band."
        )
    if chance >= HARDLY:
        return "uncertain model", (
            f"The model was uncertain where the policy goes: {percent(chance)} of the particles succeeded, the trial "
            "did not."
        )
    return "policy", (
        f"The policy was not good enough, as predicted: {percent(chance)} of the particles succeeded, and every "
        "position stayed in its predicted band."
    )


def outlook(
    cause: Cause, samples: int, *, success: bool, stuck: bool, shares: tuple[float, float], pushes: bool = False
) -> str:
    """What the next trial changes.

    Args:
        cause: Why this one went as it did.
        samples: How many measurements it adds to the data.
        success: Whether it succeeded.
        stuck: Whether there is no success yet, and this trial was hardly better than those before.
        shares: The share of the input limits that this trial could use, and the next one can.
        pushes: Whether there is no success yet, and the policy always pushes to the same side.
    """
    if success:
        change = "refines this policy in a short optimisation"
    elif stuck:
        change = "tries a new policy, too, unless this one is expected to become much better"
    elif pushes:
        change = "tries a new policy, too, unless this one is expected to become clearly better"
    elif cause == "policy":
        change = "optimises this policy further"
    else:
        change = f"learns the model with {samples} more samples and optimises the policy again"
    limits = f", with inputs up to {percent(shares[1])} of their limits" if shares[1] > shares[0] else ""
    return f"The next trial {change}{limits}."
