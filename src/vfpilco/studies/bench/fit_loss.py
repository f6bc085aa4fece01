"""What a fit of many points loses against one that maximises the exact evidence, on trials that neither has seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from vfpilco.model.conditioning import predict_reference
from vfpilco.model.diagnostics import log_density
from vfpilco.model.fit import MOST_EXACT, fit
from vfpilco.studies.bench.problem import Problem, explored
from vfpilco.trials.choosing import KERNELS

MOST = 1800
"""The most points that the exact evidence is maximised on: its time grows as their cube."""
HELD_OUT, FIRST_SEED = 12, 1000
"""Trials that are held out, and the seed of the first of them."""


@dataclass(frozen=True)
class FitLoss:
    """What a fit loses; less than zero if it is better."""

    nats: list[float]
    """Log density per sample, of every position."""
    exact_points: int
    """The points that the exact evidence was maximised on."""


def measure_fit_loss(n: int) -> FitLoss:
    """The loss of a fit of `n` points of the cart-pole.

    Hyperparameters of both fits are compared by the same exact posteriors of the first points.
    """
    problem = Problem.cartpole(n)
    dynamics, kernel = problem.simulator.dynamics, problem.settings.model.kernel or KERNELS[0]
    known = problem.data.at(np.arange(min(n, MOST)))._replace(capacity=min(n, MOST))
    kinds, least = tuple(dynamics.state.input_kinds()), dynamics.least_noise()
    fitted = partial(fit, kernel=kernel, kinds=kinds, least_noise=least)
    ours = fitted(problem.data, inducing=problem.settings.model.inducing)
    exact = fitted(known, inducing=problem.settings.model.inducing, most_exact=max(len(known.x), MOST_EXACT))
    test = dynamics.training_sets(explored(range(FIRST_SEED, FIRST_SEED + HELD_OUT)))
    best, found = (log_density(model, test, predict_reference(model, known, test.x)) for model in (exact, ours))
    return FitLoss((best - found).tolist(), len(known.x))
