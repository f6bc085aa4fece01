"""What a scene is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Role = Literal["body", "frame", "goal"]
"""The machine itself, in the colour of what it stands for; what is around it; where it should go."""


@dataclass(frozen=True)
class Shape:
    """A shape whose points are (samples, n, 2) if it moves and (n, 2) if it stays, in the unit of its scene."""

    kind: Literal["line", "polygon", "disc", "trace", "label"]
    points: np.ndarray
    size: float = 0.0
    """The width of a line, or the radius of a disc."""
    role: Role = "body"
    text: str = ""

    @property
    def moves(self) -> bool:
        """Whether it has points for every sample."""
        return self.points.ndim == 3


@dataclass(frozen=True)
class Scene:
    """Shapes from back to front, and the part of the plane that is looked at."""

    shapes: tuple[Shape, ...]
    low: tuple[float, float]
    high: tuple[float, float]


def line(points: np.ndarray, width: float, role: Role = "body") -> Shape:
    """A line through n points, with round ends."""
    return Shape("line", np.asarray(points, dtype=float), width, role)


def polygon(points: np.ndarray, role: Role = "body") -> Shape:
    """A filled shape with n corners."""
    return Shape("polygon", np.asarray(points, dtype=float), 0.0, role)


def disc(centre: np.ndarray, radius: float, role: Role = "body") -> Shape:
    """A filled circle about (samples, 2) or (2,)."""
    return Shape("disc", np.asarray(centre, dtype=float)[..., None, :], radius, role)


def trace(points: np.ndarray, role: Role = "body") -> Shape:
    """The path (samples, 2) of a point, drawn up to the sample that is shown."""
    return Shape("trace", np.asarray(points, dtype=float)[:, None, :], 0.0, role)


def label(text: str, place: tuple[float, float]) -> Shape:
    """Words, centred about a place."""
    return Shape("label", np.array([place], dtype=float), 0.0, "frame", text)
