"""`--max-risk`: what is tried before a policy with a high predicted risk is refused.

The optimisation continues from that policy with narrower safe ranges that weigh more, then with smaller limits of the
inputs too. Narrower, because particles of the optimisation draw independent model errors at every sample, while those
of a prediction carry one function each and may spread further.
"""

from __future__ import annotations

import dataclasses
import math

import jax

from vfpilco.data.failures import TooRisky
from vfpilco.data.risk import Risk, percent
from vfpilco.policy.base import Policy
from vfpilco.rollout.constraint import MOST
from vfpilco.rollout.optimise import Optimisation
from vfpilco.rollout.optimised import Optimised
from vfpilco.rollout.race import Start

SHARES = (1.0, 1.0, 0.7, 0.5)
"""The share of the input limits in every optimisation for a trial; the next one is made if the risk is too high."""
HARDER, NARROWER = 10.0, 0.15
"""By how much safe ranges weigh more in the next one, and are narrower on each side, in half ranges."""


def next_attempt(first: Optimisation, attempt: int, found: Optimised, policy: Policy) -> Optimisation:
    """Another optimisation for the same trial.

    Args:
        first: The first one.
        attempt: The number of the other one, from 1.
        found: What the one before it has found: where it starts.
        policy: The policy with its limits.
    """
    safe = first.simulator.safe
    narrower = None if safe is None else safe.narrowed(attempt * NARROWER)
    return dataclasses.replace(
        first,
        simulator=dataclasses.replace(first.simulator, policy=policy, safe=narrower),
        settings=dataclasses.replace(first.settings, gradient_decay=found.decay),
        key=jax.random.fold_in(first.key, attempt),
        starts=(Start("the policy before", found.params),),
        to_beat=math.inf,
        weight=min(HARDER * found.weight, MOST),
        attempt=attempt,
        costs=found.costs,
    )


def reason(risk: Risk, most: float, attempt: int) -> str:
    """Why there is another optimisation, and what it does."""
    change = "with narrower safe ranges that weigh more"
    if SHARES[attempt] < 1:
        change = f"with inputs of at most {percent(SHARES[attempt])} of their limits"
    return f"{_excess(risk, most)}: the optimisation continues {change}."


def refusal(trial: int, risk: Risk, most: float) -> TooRisky:
    """The error that ends a run before a policy that is too risky is executed."""
    return TooRisky(
        f"Trial {trial} was not executed. {_excess(risk, most)}, also after more optimisation and with inputs of at "
        f"most {percent(SHARES[-1])} of their limits. Nothing has moved: raise --max-risk to execute the policy."
    )


def allowed(risk: Risk, most: float) -> str:
    """The note on a trial that a person allows nevertheless."""
    return f"{_excess(risk, most)}; the trial was allowed by hand."


def _excess(risk: Risk, most: float) -> str:
    return f"The predicted risk of {percent(risk.leaving)} ({risk.words}) is above --max-risk {percent(most)}"
