"""The review of a trial: why it went as it did, what a person should know about it, and what the next one changes."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from vfpilco.data.results import Evaluated, Explanation, Forecast
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.rollout.band import band_of
from vfpilco.rollout.optimise import can_race
from vfpilco.rollout.particles import Rollout
from vfpilco.trials.explanation import SURE, explain, outlook
from vfpilco.trials.residuals import unexplained
from vfpilco.trials.result import RunResult, is_stuck
from vfpilco.trials.saturation import saturated


class Review(NamedTuple):
    """What is said about a trial of a policy."""

    explanation: Explanation
    notes: tuple[str, ...]


def review(
    result: RunResult, trial: int, executed: Trial, predicted: Rollout, expected: Forecast, dynamics: Dynamics
) -> Review:
    """Review a trial of a policy.

    Args:
        result: The run before this trial is recorded, with the model and the policy that it was made with.
        trial: Its number, from 1.
        executed: What was measured.
        predicted: The particles that predicted it.
        expected: What they predicted.
        dynamics: How the GPs see the machine.
    """
    task, limits = result.task, result.settings.limits
    done = task.evaluate(executed.evaluated, executed.reached)
    band = band_of(predicted, dynamics.sensor, SURE)
    found = explain(task.machine, executed, done, expected, band, result.trials)
    notes = []
    if trial > 1 and found.cause == "model" and not done.success and result.model is not None:
        # The first policy goes where no trial has been, so its model is wrong whatever the machine is like.
        notes.append(unexplained(result.model, dynamics, executed, task.machine))
    pushes = False
    if not done.success and expected.success_chance is not None and result.policy is not None:
        at_limits = saturated(executed, predicted, task.machine, result.policy.policy.inputs.limits)
        if at_limits is not None:
            notes.append(at_limits.words)
            pushes = at_limits.pushes
    retried = _is_retried(result, executed, done)
    change = outlook(
        found.cause,
        executed.steps,
        success=done.success,
        stuck=retried and is_stuck([*result.costs, done.cost], [*result.successes, done.success]),
        pushes=retried and pushes,
        shares=(limits.share(trial), limits.share(trial + 1)),
    )
    return Review(dataclasses.replace(found, next=change), tuple(note for note in notes if note is not None))


def _is_retried(result: RunResult, executed: Trial, done: Evaluated) -> bool:
    """Whether the next trial tries a new policy, too, unless the present one is expected to become better.

    That takes a complete trial to compare with, no success so far, and enough gradient steps.
    """
    if done.success or any(result.successes) or not can_race(result.settings.optimiser):
        return False
    return executed.steps >= result.task.horizon or bool(np.isfinite(result.to_beat))
