"""Policies that do nothing but push: inputs that are at their limit almost all the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.common.text import joined
from vfpilco.data.risk import percent
from vfpilco.data.trial import Trial
from vfpilco.rollout.particles import Rollout
from vfpilco.tasks.machine import Machine

AT_LIMIT = 0.98
"""Inputs beyond this fraction of their limit are at it."""
NEARLY_ALL = 0.95
"""A policy is saturated if at least this fraction of an input's samples is at the limit."""

Side = Literal["upper", "lower", "both"]


class Saturated(NamedTuple):
    """A policy that is at the limits of its inputs almost all the time."""

    words: str
    """What that means and what may help, for the user."""
    pushes: bool
    """Whether it always pushes to the same side; if not, it switches between both limits."""


def saturated(executed: Trial, predicted: Rollout, machine: Machine, limits: Sequence[float]) -> Saturated | None:
    """Whether a policy is at the limits of its inputs almost all the time, on the machine and in its prediction.

    One that always pushes to the same side has almost no gradient, and nothing is learned from it. One that switches
    between both limits is another case: it has the gradients of the instants at which it switches, and the fastest
    motions are of that kind.

    Args:
        executed: The trial of the policy.
        predicted: The particles that predicted it.
        machine: The machine.
        limits: The limits that the policy has; those of the machine may be larger.
    """
    real, particles = (np.asarray(u) / np.asarray(limits) for u in (executed.u[:, None], predicted.u))
    found: dict[str, tuple[Side, float]] = {}
    for i, each in enumerate(machine.inputs):
        side = _side(real[..., i], particles[..., i])
        if side is not None:
            found[each.name] = side, _at_limit(real[..., i])
    pushing = [name for name, (side, _) in found.items() if side != "both"]
    if pushing:
        where = joined([f"{name} is at its {found[name][0]} limit" for name in pushing])
        share = percent(min(found[name][1] for name in pushing))
        return Saturated(
            f"The policy does nothing but push: {where} in {share} of the samples, as predicted. That is a local "
            "optimum, because gradients almost vanish at the limit. The limit may be too small for the task, the cost "
            "may not reward the way to the goal, or --input-penalty may help.",
            pushes=True,
        )
    if not found:
        return None
    share = percent(min(share for _, share in found.values()))
    return Saturated(
        f"The policy only switches between the limits of {joined(list(found))}: it is at one of them in {share} of the "
        "samples, as predicted. The limit may be too small for the task.",
        pushes=False,
    )


def _side(real: Float[np.ndarray, "steps 1"], predicted: Float[np.ndarray, "samples M"]) -> Side | None:
    """The limit that an input, relative to it, is at almost always, on the machine and in particles; None if none."""
    if any(_at_limit(u) < NEARLY_ALL for u in (real, predicted)):
        return None
    if any(_on_one_side(u) < NEARLY_ALL for u in (real, predicted)):
        return "both"
    return "upper" if np.mean(real) > 0 else "lower"


def _at_limit(u: Float[np.ndarray, "steps M"]) -> float:
    """The fraction of the samples at either limit."""
    return float(np.mean(np.abs(u) >= AT_LIMIT))


def _on_one_side(u: Float[np.ndarray, "steps M"]) -> float:
    """The fraction of the samples at the limit that a trial is mostly at, on average over the trials."""
    return float(np.mean(np.maximum(np.mean(u >= AT_LIMIT, axis=0), np.mean(u <= -AT_LIMIT, axis=0))))
