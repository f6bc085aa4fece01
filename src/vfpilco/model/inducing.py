"""How many inducing points a projected posterior needs: as few as lose next to nothing on data held out."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from vfpilco.model.conditioning import condition, posterior_size, predict_reference
from vfpilco.model.diagnostics import ProjectionLoss, projection_loss
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.model import Model

SIZES = (128, 256, 512)
"""Numbers of inducing points to choose from; few, because gradient steps are compiled for each."""
MOST_ERROR, MOST_NATS = 0.02, 0.05
"""What a projected posterior may lose: a fraction of the one-step error, and log density in nats per sample."""
HELD_OUT = 200
"""The most training points that are held out to measure that."""


class Sufficient(NamedTuple):
    """A number of inducing points, and why it is that one."""

    size: int
    losses: tuple[tuple[int, ProjectionLoss], ...] = ()
    """What the numbers up to this one lose; the largest of `SIZES` is not measured, nor one that is given by hand."""

    def remarks(self, previous: Model | None) -> list[str]:
        """Why it was chosen, in a sentence, if that is new after the model of the trial before."""
        if not self.losses or _is_known(self.size, previous):
            return []
        *others, (last, loss) = self.losses[-2:]
        lost = f"{_percent(loss)} in one-step error and {_nats(loss)} nats per sample on data held out"
        if self.size != last:
            return [f"Chosen: {self.size} inducing points, the most: {last} lose {lost}."]
        fewer = "".join(f"; {size} lose {_percent(other)} and {_nats(other)}" for size, other in others)
        return [f"Chosen: {self.size} inducing points, which lose {lost}{fewer}."]


def sufficient(model: Model, data: TrainingSet, least: int = SIZES[0]) -> Sufficient:
    """The first of `SIZES`, from `least` on, whose projection loses little on the last part of the data, held out.

    Args:
        model: Hyperparameters and units; its posterior is not used.
        data: The training set. Its last quarter, or `HELD_OUT` points, are predicted from the others.
        least: The number to begin with: that of the trial before, so that the number never falls.
    """
    sizes, losses = [size for size in SIZES if size >= least], []
    held = _held_out(len(data.x))
    known, test = data.at(np.arange(len(data.x) - held)), data.at(np.arange(len(data.x) - held, len(data.x)))
    if posterior_size(data.rows, sizes[0])[0] >= len(known.x):  # every point is an inducing point
        return Sufficient(sizes[0])
    reference = predict_reference(model, known, test.x)
    for size in sizes[:-1]:
        posterior, _ = condition(model.kernel, model.hyperparameters, known, np.asarray(model.posterior.y_scale), size)
        loss = projection_loss(dataclasses.replace(model, posterior=posterior), known, test, reference)
        losses.append((size, loss))
        if max(loss.error) <= MOST_ERROR and max(loss.log_density) <= MOST_NATS:
            return Sufficient(size, tuple(losses))
    return Sufficient(sizes[-1], tuple(losses))


def size_of(model: Model | None) -> int:
    """The first of `SIZES` that is no smaller than the projection of a model."""
    points = 0 if model is None or model.exact else model.posterior.w.shape[2] * 2
    return next((size for size in SIZES if size >= points), SIZES[-1])


def _is_known(size: int, previous: Model | None) -> bool:
    """Whether that number was already measured to be the right one for the model of the trial before."""
    if previous is None or previous.exact or size_of(previous) != size:
        return False
    return previous.posterior.w.shape[1] < previous.points - _held_out(previous.points)


def _held_out(points: int) -> int:
    return min(points // 4, HELD_OUT)


def _percent(loss: ProjectionLoss) -> str:
    return f"{max(100 * float(np.max(loss.error)), 0.0):.1f} %"


def _nats(loss: ProjectionLoss) -> str:
    return f"{max(float(np.max(loss.log_density)), 0.0):.3f}"
