"""A race: short optimisations side by side, of which the best one is continued.

Where an optimisation should start, and how far ahead its gradients should look, depends on the machine, on the policy
and on how good the model is. Far-sighted gradients are exact, but on an unstable machine noise dominates them;
short-sighted ones are reliable, but see no reason to swing back first. So a few are tried: every runner makes the same
number of steps, and the better half continues, until one is left. With few gradient steps there is no race; gradients
then look as far ahead as the first of the choices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vfpilco.common import interrupts
from vfpilco.policy.base import Params

DECAYS = (0.98, 0.9, 0.8)
"""The gradient decays to choose from: about 50, 10 or 5 samples ahead."""
SHARE = 0.1
"""Gradient steps of every runner in a round, as a fraction of the first phase."""


def others(decay: float) -> tuple[float, ...]:
    """The decays of the other half: far-sighted ones if `decay` is short-sighted, and the other way round."""
    half = len(DECAYS) // 2
    return DECAYS[half:] if decay in DECAYS[:half] else DECAYS[:half]


def shorter(decay: float) -> float:
    """The next decay whose gradients look less far ahead; the same one if there is none."""
    return max((other for other in DECAYS if other < decay), default=decay)


class Start(NamedTuple):
    """A policy that an optimisation may start from."""

    name: str
    """In words, for the user."""
    params: Params | None = None
    """Its parameters; drawn at random if None."""


class Runner(NamedTuple):
    """A short optimisation: from where, how far ahead its gradients look, and how it is doing."""

    start: Start
    decay: float
    state: Any
    """Where it is."""
    cost: float = float("inf")
    """The expected cost of the policy that it has arrived at, which may be worse than the one it started from."""


def rounds(runners: int) -> list[int]:
    """How many runners take part in every round."""
    sizes = []
    while runners > 1:
        sizes.append(runners)
        runners //= 2
    return sizes


def race(runners: list[Runner], run: Callable[[Runner], Runner]) -> Runner:
    """Let the better half continue until one runner is left.

    Args:
        runners: Those who take part, the preferred ones first.
        run: Continues a runner by one round.
    """
    for size in rounds(len(runners)):
        moved = []
        for runner in runners[:size]:
            interrupts.check()
            moved.append(run(runner))
        runners = sorted(moved, key=lambda runner: runner.cost)[: size // 2]
    return runners[0]
