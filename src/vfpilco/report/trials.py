"""What the page shows of one execution: positions and inputs over their prediction, and the machine in motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.report.packing import pack, thinned
from vfpilco.report.policy import policy_maps
from vfpilco.report.source import Source
from vfpilco.scenes.base import Shape

LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
"""Quantiles of the particles: the ends of the 95 % and 50 % bands, and the median."""
PARTICLES = 12
"""Particles drawn as lines."""
GHOSTS = 8
"""Particles drawn as machines, beside a typical one."""
MOST_STEPS = 400
"""Gradient steps of an optimisation that are drawn."""


def trial_data(source: Source, index: int) -> dict[str, Any]:
    """Everything that is drawn of execution `index`."""
    row, trial = source.rows[index], source.trial(index)
    predicted = source.predicted(row)
    shown = None
    if predicted is not None:
        shown = predicted["q"][:, shown_particles(predicted["q"], predicted["cost"], trial.q[0], GHOSTS)]
    return {
        "sampling_time": trial.sampling_time,
        "q": _columns(trial.q),
        "true": None if trial.true is None else _columns(trial.true),
        "u": _columns(trial.u),
        "predicted": None if predicted is None else {name: _predicted(predicted[name]) for name in ("q", "u")},
        "optimisation": _optimisation(source.optimised(row)),
        "scene": scene_data(source, trial.judged, shown),
        "policy": policy_maps(source, row, trial),
    }


def shown_particles(q: np.ndarray, cost: np.ndarray, start: np.ndarray, ghosts: int) -> np.ndarray:
    """Particles to be drawn, (1 + ghosts): one that began near `start`, typical by its cost; others, cheap to dear."""
    spread = np.maximum(q[0].std(0), 1e-12)
    distance = (((q[0] - start) / spread) ** 2).sum(-1)
    near = np.argsort(distance, kind="stable")[: max(1, len(distance) // 10)]
    total = cost.sum(0)
    typical = near[np.argsort(total[near], kind="stable")[len(near) // 2]]
    order = np.argsort(total, kind="stable")
    others = order[thinned(len(order), ghosts + 2)[1:-1]] if len(order) > 2 else order
    return np.concatenate([[typical], others])


def _columns(rows: np.ndarray) -> list[dict[str, Any]]:
    return [pack(column) for column in rows.T]


def _predicted(particles: np.ndarray) -> list[dict[str, Any]]:
    """Bands and lines of particles (samples, M, d), channel by channel."""
    lines = particles[:, thinned(particles.shape[1], PARTICLES)]
    bands = np.quantile(particles, LEVELS, axis=1)
    return [{"bands": pack(bands[:, :, i]), "lines": pack(lines[:, :, i].T)} for i in range(particles.shape[2])]


def _optimisation(cost: np.ndarray | None) -> dict[str, Any] | None:
    """The expected cost over the gradient steps, in as many points as can be seen."""
    if cost is None or not len(cost):
        return None
    steps = thinned(len(cost), MOST_STEPS)
    return {"step": pack(steps + 1), "cost": pack(cost[steps])}


def scene_data(source: Source, real: np.ndarray, particles: np.ndarray | None) -> dict[str, Any]:
    """The machine as it moved, and as the particles (samples, n, d_q) did."""
    scene = source.scene(real)
    others = [] if particles is None else [source.scene(q).shapes for q in particles.swapaxes(0, 1)]
    shapes = [_shape(shape, [shapes[i] for shapes in others]) for i, shape in enumerate(scene.shapes)]
    return {"low": scene.low, "high": scene.high, "shapes": shapes}


def _shape(shape: Shape, predicted: list[Shape]) -> dict[str, Any]:
    """A shape on the machine and as predicted; what stands still is given once, ghosts have a body alone."""
    about = {"kind": shape.kind, "role": shape.role, "size": shape.size, "text": shape.text}
    if not shape.moves:
        return {**about, "still": pack(shape.points)}
    shown = predicted if shape.role == "body" else predicted[:1]
    return {**about, "real": pack(shape.points), "predicted": [pack(other.points) for other in shown]}
