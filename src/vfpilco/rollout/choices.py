"""What an optimisation chooses before it begins, in words: how far ahead its gradients look, and where it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vfpilco.common.text import short
from vfpilco.rollout.race import Runner


def horizon_words(winner: Runner, ran: Sequence[Runner], steps: int, *, again: bool = False) -> str:
    """How far ahead gradients look, and what the runners of the race are expected to cost.

    Args:
        winner: The runner that continues.
        ran: The runners after their round; none if there was no race.
        steps: The gradient steps of the optimisation, at most.
        again: Whether this is another optimisation, whose gradients look another way ahead than before.
    """
    looks = f"Chosen: gradients look about {_ahead(winner.decay)} samples ahead{', unlike before' if again else ''}"
    others = {runner.decay: runner.cost for runner in ran if runner.decay != winner.decay}
    if others:
        lost = ", ".join(f"{_amount(cost)} with {_ahead(decay)}" for decay, cost in others.items())
        return f"{looks}, by a race (expected cost {_amount(winner.cost)}; {lost})."
    return f"{looks}." if again else f"{looks}, without a race: {steps} gradient steps are too few for one."


def start_words(start: str, costs: Mapping[str, float]) -> str:
    """Where the optimisation starts.

    Args:
        start: The name of the policy that it starts from.
        costs: The expected costs of the known policies to start from, by name.
    """
    others = [f"{name} is expected to cost {_amount(cost)}" for name, cost in costs.items() if name != start]
    if not others:
        return f"The optimisation starts from {start}."
    return f"The optimisation starts from {start} (expected cost {_amount(costs[start])}; {', '.join(others)})."


def _ahead(decay: float) -> int:
    """How many samples ahead gradients look."""
    return round(1 / (1 - decay))


def _amount(cost: float) -> str:
    return short(cost) if np.isfinite(cost) else "not finite"
