"""Whether the inputs of a logged trial are those that a policy gives for what was measured."""

from __future__ import annotations

import numpy as np

from vfpilco.controller import LearnedPolicy
from vfpilco.trial import Trial

RMS, WORST = 0.03, 0.2
"""By how much inputs may differ from the policy's, as shares of u_max: on average, and at any sample."""


def difference(policy: LearnedPolicy, trial: Trial, limits: np.ndarray) -> str:
    """What a person should know of logged inputs that are not the policy's; nothing if they are."""
    if policy.measures != trial.q.shape[1] or trial.steps < 3:
        return ""
    policy.reset()
    due = np.array([policy(measured) for measured in trial.q[:-1]]) / limits
    policy.reset()
    logged = trial.u / limits
    if _fits(logged, due):
        return ""
    off = np.abs(logged - due)
    sample = int(np.argmax(off.max(axis=1)))
    said = (
        "the logged inputs are not what the policy gives for the logged positions: they differ by "
        f"{_rms(off):.0%} of u_max (rms), most at sample {sample} with {off.max():.0%}."
    )
    if _fits(logged[1:], due[:-1]):
        return f"{said} They fit one line later: if they were logged one line late, move them up by one line."
    if _fits(logged[:-1], due[1:]):
        return f"{said} They fit one line earlier: if they were logged one line early, move them down by one line."
    return f"{said} Check that the machine ran this policy, in the units of the task, and that all digits were logged."


def _fits(logged: np.ndarray, due: np.ndarray) -> bool:
    off = np.abs(logged - due)
    return bool(_rms(off) <= RMS and off.max() <= WORST)


def _rms(off: np.ndarray) -> float:
    """Of the input that is off most."""
    return float(np.sqrt(np.mean(off**2, axis=0)).max())
