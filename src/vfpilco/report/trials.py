"""What the page shows of one execution: positions and inputs over their prediction, and the machine in motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.thinning import thinned
from vfpilco.data.trial import Trial
from vfpilco.drawing.shapes import Shape
from vfpilco.report.packing import pack
from vfpilco.report.policy import policy_maps
from vfpilco.report.response import step_response
from vfpilco.report.source import Source
from vfpilco.rollout.particles import Rollout
from vfpilco.rollout.risk import left_by
from vfpilco.storage.scenes import Scenes

LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
"""Quantiles of the particles: the ends of the 95 % and 50 % bands, and the median."""
PARTICLES = 12
"""Particles drawn as lines."""
MOST_STEPS = 400
"""Gradient steps of an optimisation that are drawn."""


def trial_data(source: Source, index: int) -> dict[str, Any]:
    """Everything that the page shows of execution `index`."""
    result, trial = source.results[index], source.trial(index)
    predicted = source.predicted(result)
    return {
        "sampling_time": trial.sampling_time,
        "q": _columns(trial.q),
        "true": None if trial.true is None else _columns(trial.true),
        "u": _columns(trial.u),
        "predicted": None if predicted is None else {"q": _bands(predicted.q), "u": _bands(predicted.u)},
        "risk": [] if predicted is None else _risk(source, predicted),
        "optimisation": _optimisation(source.optimisation_costs(result)),
        "scene": _scene(source.scenes(index)),
        "policy": policy_maps(source, result, trial),
        "response": [] if result.trial is None else _responses(source, trial),
    }


def _responses(source: Source, trial: Trial) -> list[dict[str, Any]]:
    """The step response of every position that has a set point."""
    found = [
        (p, step_response(trial.evaluated[:, i], source.target(i), trial.sampling_time, p.angle))
        for i, p in enumerate(source.positions)
    ]
    return [{"name": p.name, "unit": p.unit, **vars(response)} for p, response in found if response is not None]


def _columns(rows: np.ndarray) -> list[dict[str, Any]]:
    return [pack(column) for column in rows.T]


def _bands(particles: Any) -> list[dict[str, Any]]:
    """Bands and lines of particles (samples, M, d), for each of the d channels."""
    lines = particles[:, thinned(particles.shape[1], PARTICLES)]
    bands = np.quantile(particles, LEVELS, axis=1)
    return [{"bands": pack(bands[:, :, i]), "lines": pack(lines[:, :, i].T)} for i in range(particles.shape[2])]


def _risk(source: Source, predicted: Rollout) -> list[dict[str, Any]]:
    """How many particles have left each safe range by every sample, below and above it, in percent."""
    q, bounded = np.asarray(predicted.q), [(i, p) for i, p in enumerate(source.positions) if p.safe is not None]
    return [{"name": p.name, "left": pack(100 * left_by(q[..., i], p.safe))} for i, p in bounded if p.safe is not None]


def _optimisation(costs: np.ndarray | None) -> dict[str, Any] | None:
    """The expected cost over the gradient steps, with as many points as a screen can show."""
    if costs is None or not len(costs):
        return None
    steps = thinned(len(costs), MOST_STEPS)
    return {"step": pack(steps + 1), "cost": pack(costs[steps])}


def _scene(scenes: Scenes) -> dict[str, Any]:
    """The machine in motion: as it moved, and as the particles did."""
    real, others = scenes.real, [scene.shapes for scene in scenes.predicted]
    shapes = [_shape(shape, [shapes[i] for shapes in others]) for i, shape in enumerate(real.shapes)]
    return {"low": real.low, "high": real.high, "shapes": shapes}


def _shape(shape: Shape, predicted: list[Shape]) -> dict[str, Any]:
    """A shape of the machine and of its prediction; what does not move is given once, ghosts have only a body."""
    about = {"kind": shape.kind, "role": shape.role, "size": shape.size, "text": shape.text}
    if not shape.moves:
        return {**about, "still": pack(shape.points)}
    shown = predicted if shape.role == "body" else predicted[:1]
    return {**about, "real": pack(shape.points), "predicted": [pack(other.points) for other in shown]}
