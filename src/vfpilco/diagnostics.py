"""How good a model is on a trial it has not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.gp import Model
from vfpilco.history import VelocityFree
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
