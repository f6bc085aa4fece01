"""The machine in motion as data: what a drawing of the user's own showed, shape by shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vfpilco.data.records import from_json_types
from vfpilco.data.trial import Trial
from vfpilco.drawing.shapes import Role, Scene, Shape
from vfpilco.rollout.particles import Rollout
from vfpilco.rollout.typical import typical_particles
from vfpilco.storage.store import About, Arrays, Artifact

GHOSTS = 8
"""Particles drawn as faint machines behind a typical one."""


@dataclass(frozen=True)
class Scenes:
    """A machine as it moved in an execution, and as particles did: a typical one, then others."""

    real: Scene
    predicted: tuple[Scene, ...] = ()


def draw(scene: Callable[[np.ndarray], Scene], trial: Trial, predicted: Rollout | None) -> Scenes:
    """Draw an execution and the particles that predicted it, if there are any."""
    if predicted is None:
        return Scenes(scene(trial.evaluated))
    shown = np.asarray(predicted.q)[:, typical_particles(predicted, trial.q[0], GHOSTS)]
    return Scenes(scene(trial.evaluated), tuple(scene(q) for q in shown.swapaxes(0, 1)))


@dataclass(frozen=True)
class _Style:
    """What a file says about a shape apart from its points."""

    kind: Literal["line", "polygon", "disc", "trace", "label"]
    role: Role = "body"
    size: float = 0.0
    text: str = ""


@dataclass(frozen=True)
class _Description:
    """What a file says about its scenes."""

    shapes: tuple[_Style, ...]
    low: tuple[float, float]
    high: tuple[float, float]
    particles: int


def _encode(scenes: Scenes) -> tuple[Arrays, About]:
    all_scenes = (scenes.real, *scenes.predicted)
    arrays = {
        f"{i}.{j}": np.asarray(shape.points, dtype=np.float32)
        for j, scene in enumerate(all_scenes)
        for i, shape in enumerate(scene.shapes)
        if j == 0 or shape.moves
    }
    styles = [
        {"kind": shape.kind, "role": shape.role, "size": float(shape.size), "text": shape.text}
        for shape in scenes.real.shapes
    ]
    low, high = ([float(value) for value in corner] for corner in (scenes.real.low, scenes.real.high))
    return arrays, {"shapes": styles, "low": low, "high": high, "particles": len(scenes.predicted)}


def _decode(arrays: Arrays, about: About, known: dict[str, Any]) -> Scenes:
    described = from_json_types({name: about[name] for name in ("shapes", "low", "high", "particles")}, _Description)
    if not np.all(np.subtract(described.high, described.low) > 0):
        raise ValueError("the scene has no size")
    most = len(arrays)  # not `particles`, which may be any number
    if not 0 <= described.particles <= most or not described.shapes:
        raise ValueError("the scene is incomplete")
    return Scenes(*_scenes(arrays, described))


def _scenes(arrays: Arrays, described: _Description) -> tuple[Scene, tuple[Scene, ...]]:
    def scene(j: int) -> Scene:
        shapes = tuple(
            Shape(style.kind, _points(arrays, i, j), style.size, style.role, style.text)
            for i, style in enumerate(described.shapes)
        )
        return Scene(shapes, described.low, described.high)

    return scene(0), tuple(scene(j) for j in range(1, described.particles + 1))


def _points(arrays: Arrays, i: int, j: int) -> np.ndarray:
    """The points of shape `i` in scene `j`; what does not move is in the first scene only."""
    points = arrays[f"{i}.0"]
    points = arrays[f"{i}.{j}"] if points.ndim == 3 else points
    if points.ndim not in (2, 3) or points.shape[-1] != 2 or not points.size or points.dtype.kind != "f":
        raise ValueError(f"shape {i} has no points")
    return points.astype(float)


SCENES: Artifact[Scenes] = Artifact("scenes", _encode, _decode)
"""The machine in every execution, by the index of the execution; for drawings that are not built in."""
