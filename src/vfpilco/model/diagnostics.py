"""How good a model is on a trial it has not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.data.trial import Trial
from vfpilco.model.conditioning import predict_reference
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.model import Model

LOOKAHEAD = 10
"""Samples that the multi-step error looks ahead."""


class ModelErrors(NamedTuple):
    """Root mean square errors per position, in its unit; NaN where a trial was too short for it."""

    one_step: Float[np.ndarray, "d_q"]
    multi_step: Float[np.ndarray, "d_q"]


def one_step_errors(model: Model, dynamics: Dynamics, trial: Trial) -> Float[np.ndarray, "N d_q"]:
    """What the predicted position one sample ahead differs by from the measured one, sample by sample."""
    return ahead_errors(model, dynamics, trial, 1)


def errors(model: Model, dynamics: Dynamics, trial: Trial) -> ModelErrors:
    """Errors of the mean prediction one sample and `LOOKAHEAD` samples ahead."""
    ahead = min(LOOKAHEAD, len(dynamics.state.states(trial)[0]) - 1)
    if ahead < 1:
        return ModelErrors(*np.full((2, dynamics.state.signals.d_q), np.nan))
    found = (ahead_errors(model, dynamics, trial, n) for n in (1, ahead))
    return ModelErrors(*(np.sqrt(np.mean(e**2, axis=0)) for e in found))


def ahead_errors(model: Model, dynamics: Dynamics, trial: Trial, ahead: int) -> Float[np.ndarray, "N d_q"]:
    """Errors of the position predicted `ahead` samples ahead from every sample, by mean and the applied inputs."""
    representation = dynamics.state
    t, state = representation.states(trial)
    within = t <= trial.steps - ahead
    t, state = t[within], type(state)(*(column[within] for column in state))
    for i in range(ahead):
        u = trial.u[t + i]
        change = dynamics.mean(state, u) + model.predict(representation.gp_input(state, u))[0]
        state = dynamics.advance(state, u, change)
    return representation.positions(state) - trial.q[t + ahead]


class ProjectionLoss(NamedTuple):
    """What a projected posterior loses against the exact one on data neither has seen, per position."""

    error: Float[np.ndarray, "d_q"]
    """By which share its one-step error is larger."""
    log_density: Float[np.ndarray, "d_q"]
    """By how much less likely it finds a measured change, in nats per sample."""


Predictions = tuple[Float[np.ndarray, "N J"], Float[np.ndarray, "N J"]]
"""Means and variances."""


def projection_loss(
    model: Model, data: TrainingSet, held_out: TrainingSet, reference: Predictions | None = None
) -> ProjectionLoss:
    """Compare `model` with the exact posterior of its training set `data`, on data that neither has seen.

    `reference` is what the exact posterior predicts there, if that is known already.
    """
    projected, exact = model.predict(held_out.x), reference or predict_reference(model, data, held_out.x)
    target = held_out.y - held_out.prior
    error, exact_error = (np.sqrt(((target - mean) ** 2).mean(0)) for mean, _ in (projected, exact))
    lost = log_density(model, held_out, exact) - log_density(model, held_out, projected)
    return ProjectionLoss(error / exact_error - 1, lost)


def log_density(model: Model, held_out: TrainingSet, predicted: Predictions) -> Float[np.ndarray, "J"]:
    """The mean log density of measured changes per position, in nats, with the noise that `model` found."""
    mean, variance = predicted
    spread = variance + model.noise**2
    return -0.5 * ((held_out.y - held_out.prior - mean) ** 2 / spread + np.log(2 * np.pi * spread)).mean(0)
