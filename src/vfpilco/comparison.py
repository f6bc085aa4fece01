"""A trial against what was predicted of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vfpilco import diagnostics
from vfpilco.gp import Model
from vfpilco.particles import Rollout
from vfpilco.representation import Representation, TrainingSet
from vfpilco.trial import Trial

MOST_LOSS = diagnostics.ProjectionLoss(error=0.02, log_density=0.05)  # pyright: ignore[reportArgumentType]
"""What a projected posterior may lose before a person is told."""


def compare(
    executed: Trial,
    predicted: Rollout,
    model: Model,
    representation: Representation,
    data: TrainingSet,
    rows: int,
    note: Callable[[str], None],
) -> dict[str, Any]:
    """Predicted against real: cost and its band, how much of the trajectory the band covers, model errors.

    `data` is what the model was learned from, padded to `rows`.
    """
    samples = min(len(predicted.q), len(executed.q))
    band_low, band_high = np.quantile(predicted.q[:samples], [0.025, 0.975], axis=1)
    judged = executed.judged[:samples]
    errors = diagnostics.errors(model, representation, executed)
    return {
        "predicted_cost": cost_band(predicted),
        "band_coverage": float(((judged >= band_low) & (judged <= band_high)).mean()),
        "model": {
            "noise": model.noise.tolist(),
            "rounding": model.rounding.tolist(),
            "lengthscales": [finite(joint) for joint in model.lengthscales],
            "one_step_error": finite(errors.one_step),
            "multi_step_error": finite(errors.multi_step),
            "posterior": describe_posterior(model, data, rows, representation.training_set(executed), note),
        },
    }


def cost_band(predicted: Rollout) -> dict[str, float]:
    """The expected cost of a trial and the 95 % band around it."""
    totals = predicted.cost.sum(0)
    low, high = np.quantile(totals, [0.025, 0.975])
    return {"mean": float(totals.mean()), "low": float(low), "high": float(high)}


def describe_posterior(
    model: Model, data: TrainingSet, rows: int, test: TrainingSet, note: Callable[[str], None]
) -> dict[str, Any]:
    """Exact or projected, and what the projection loses on the trial just executed."""
    if model.exact:
        return {"kind": "exact", "points": model.points}
    loss = diagnostics.projection_loss(model, data, rows, test)
    if max(loss.error) > MOST_LOSS.error or max(loss.log_density) > MOST_LOSS.log_density:
        note(
            f"The projected GP posterior is worse than the exact one by {max(loss.error):.1%} in one-step error "
            f"and {max(loss.log_density):.3f} nats: if policies fail, raise --inducing or set it to 0."
        )
    _, inducing, directions = model.posterior.w.shape
    return {
        "kind": "projected",
        "points": model.points,
        "inducing": inducing,
        "directions": directions,
        "excess_error": loss.error.tolist(),
        "lost_log_density": loss.log_density.tolist(),
    }


def finite(numbers: np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: None for those that are not finite."""
    return [float(v) if np.isfinite(v) else None for v in numbers]
