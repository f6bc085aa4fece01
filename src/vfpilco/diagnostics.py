"""How good a model is on a trial it has not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco import gp
from vfpilco.gp import Model
from vfpilco.history import TrainingSet, VelocityFree
from vfpilco.trial import Trial

LOOKAHEAD = 10
"""Samples that the multi-step error looks ahead."""


class ModelErrors(NamedTuple):
    """Root mean square errors per position, in its unit."""

    one_step: Float[np.ndarray, "d_q"]
    multi_step: Float[np.ndarray, "d_q"]


def errors(model: Model, history: VelocityFree, trial: Trial) -> ModelErrors:
    """One-step errors on the measured differences; errors of the mean prediction `LOOKAHEAD` samples ahead."""
    data = history.training_set(trial)
    one_step = data.y - data.prior - model.predict(data.x)[0]
    ahead = min(LOOKAHEAD, len(data.x))
    starts = np.arange(history.first_real, trial.steps - ahead + 1)
    window = history.windows(trial, starts)
    for i in range(ahead):
        u = trial.u[starts + i]
        change = history.prior_mean(window) + model.predict(history.gp_input(window, u))[0]
        window = history.advance(window, u, change)
    multi_step = window.q[:, 0] - trial.q[starts + ahead]
    return ModelErrors(*(np.sqrt(np.mean(e**2, axis=0)) for e in (one_step, multi_step)))


class ProjectionLoss(NamedTuple):
    """What a projected posterior loses against the exact one on data neither has seen, per position."""

    error: Float[np.ndarray, "d_q"]
    """By which share its one-step error is larger."""
    log_density: Float[np.ndarray, "d_q"]
    """By how much less likely it finds a measured change, in nats per sample."""


def projection_loss(model: Model, data: TrainingSet, rows: int, held_out: TrainingSet) -> ProjectionLoss:
    """Compare `model` with the exact posterior of its training set, which is padded to `rows`."""
    target = held_out.y - held_out.prior
    scores = []
    for mean, variance in (model.predict(held_out.x), gp.predict_exactly(model, data, rows, held_out.x)):
        spread = variance + model.noise**2
        squares = (target - mean) ** 2
        scores.append((np.sqrt(squares.mean(0)), -0.5 * (squares / spread + np.log(2 * np.pi * spread)).mean(0)))
    (error, density), (exact_error, exact_density) = scores
    return ProjectionLoss(error / exact_error - 1, exact_density - density)
