"""What a policy optimisation has found: the best of its policies, and which one that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.common.text import short
from vfpilco.policy.base import Params
from vfpilco.rollout.constraint import FIRST
from vfpilco.rollout.race import Start


class Optimised(NamedTuple):
    """An optimised policy, and how it was found."""

    params: Params
    expected_cost: float
    """On fresh particles."""
    costs: Float[np.ndarray, "steps"]
    """The cost at every gradient step."""
    start: Start
    """The policy it was optimised from."""
    decay: float
    """The gradient decay it was optimised with."""
    weight: float = FIRST
    """The weight of the safe ranges at the end."""
    step: int = 0
    """After how many gradient steps it was found; 0: it is the policy that the optimisation started from."""
    steps: int = 0
    """How many gradient steps that optimisation made."""
    last_cost: float | None = None
    """The expected cost of the policy after the last of them, on the same particles; None if it is not known."""

    @property
    def chosen(self) -> str:
        """Which of the policies is executed, in a sentence; empty if it is the last one, or costs as much."""
        cost = short(self.expected_cost)
        if not self.step and self.steps:
            start = f"the policy that the optimisation started from (expected cost {cost})"
            return f"Chosen: {start}, because none of {self.steps} gradient steps improved it."
        if self.step == self.steps or (self.last_cost is not None and short(self.last_cost) == cost):
            return ""
        last = "" if self.last_cost is None else f", not the last one ({short(self.last_cost)})"
        return f"Chosen: the policy after {self.step} of {self.steps} gradient steps (expected cost {cost}){last}."
