"""How many inducing points a projected posterior needs: as few as lose next to nothing on data held out."""

from __future__ import annotations

import dataclasses

import numpy as np

from vfpilco.model.conditioning import condition, posterior_size, predict_reference
from vfpilco.model.diagnostics import projection_loss
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.model import Model

SIZES = (128, 256, 512)
"""Numbers of inducing points to choose from; few, because gradient steps are compiled for each."""
MOST_ERROR, MOST_NATS = 0.02, 0.05
"""What a projected posterior may lose: a fraction of the one-step error, and log density in nats per sample."""
HELD_OUT = 200
"""The most training points that are held out to measure that."""


def sufficient(model: Model, data: TrainingSet, least: int = SIZES[0]) -> int:
    """The first of `SIZES`, from `least` on, whose projection loses little on the last part of the data, held out.

    Args:
        model: Hyperparameters and units; its posterior is not used.
        data: The training set. Its last quarter, or `HELD_OUT` points, are predicted from the others.
        least: The number to begin with: that of the trial before, so that the number never falls.
    """
    sizes = [size for size in SIZES if size >= least]
    held = min(len(data.x) // 4, HELD_OUT)
    known, test = data.at(np.arange(len(data.x) - held)), data.at(np.arange(len(data.x) - held, len(data.x)))
    if posterior_size(data.rows, sizes[0])[0] >= len(known.x):  # every point is an inducing point
        return sizes[0]
    reference = predict_reference(model, known, test.x)
    for size in sizes[:-1]:
        posterior, _ = condition(model.kernel, model.hyperparameters, known, np.asarray(model.posterior.y_scale), size)
        loss = projection_loss(dataclasses.replace(model, posterior=posterior), known, test, reference)
        if max(loss.error) <= MOST_ERROR and max(loss.log_density) <= MOST_NATS:
            return size
    return sizes[-1]


def size_of(model: Model | None) -> int:
    """The first of `SIZES` that is no smaller than the projection of a model."""
    points = 0 if model is None or model.exact else model.posterior.w.shape[2] * 2
    return next((size for size in SIZES if size >= points), SIZES[-1])
