"""Checks whether the inputs of a logged trial are those that a policy computes from the logged positions."""

from __future__ import annotations

import numpy as np

from vfpilco.data.trial import Trial
from vfpilco.policy.learned import LearnedPolicy

RMS, WORST = 0.03, 0.2
"""How far inputs may differ from those of the policy, as fractions of u_max: root mean square, and at any sample."""


def difference(policy: LearnedPolicy, trial: Trial, limits: np.ndarray) -> str:
    """Explain how logged inputs differ from those that the policy computes.

    Args:
        policy: The policy that was asked for; it is reset.
        trial: The logged trial.
        limits: u_max of every input.

    Returns:
        A few sentences for the user; empty if the inputs are the policy's, or cannot be compared.
    """
    if policy.measures != trial.q.shape[1] or trial.steps < 3:
        return ""
    q, logged = trial.q[:-1], trial.u / limits
    expected = policy.replay(q, trial.u) / limits
    if _fits(logged, expected):
        return ""
    error = np.abs(logged - expected)
    sample = int(np.argmax(error.max(axis=1)))
    found = (
        "the logged inputs are not those that the policy computes from the logged positions: they differ by "
        f"{_rms(error):.0%} of u_max (rms), most at sample {sample} with {error.max():.0%}."
    )
    if _fits(logged[1:], policy.replay(q[:-1], trial.u[1:]) / limits):
        return f"{found} They fit one line later: if they were logged one line late, move them up by one line."
    unknown = np.full((1, len(limits)), np.nan)  # the first inputs are not in the log then
    if _fits(logged[:-1], policy.replay(q, np.concatenate([unknown, trial.u[:-1]]))[1:] / limits):
        return f"{found} They fit one line earlier: if they were logged one line early, move them down by one line."
    return f"{found} Check that the machine ran this policy, in the units of the task, and that all digits were logged."


def _fits(logged: np.ndarray, expected: np.ndarray) -> bool:
    error = np.abs(logged - expected)
    return bool(_rms(error) <= RMS and error.max() <= WORST)


def _rms(error: np.ndarray) -> float:
    """The root mean square error of the worst input."""
    return float(np.sqrt(np.mean(error**2, axis=0)).max())
