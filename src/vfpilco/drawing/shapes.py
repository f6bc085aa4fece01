"""The shapes that a scene consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Role = Literal["body", "frame", "goal"]
"""The machine itself, in the colour of a measurement or a prediction; its surroundings; where it should go."""


@dataclass(frozen=True)
class Shape:
    """A shape in the plane; make one with `line`, `polygon`, `disc`, `trace` or `label`."""

    kind: Literal["line", "polygon", "disc", "trace", "label"]
    """How its points are drawn."""
    points: np.ndarray
    """(samples, n, 2) if it moves, (n, 2) if it does not, in the unit of its scene."""
    size: float = 0.0
    """The width of a line, or the radius of a disc."""
    role: Role = "body"
    """What it belongs to."""
    text: str = ""
    """The text of a label."""

    @property
    def moves(self) -> bool:
        """Whether it has points for every sample."""
        return self.points.ndim == 3


@dataclass(frozen=True)
class Scene:
    """A machine as shapes in the plane.

    Example:
        >>> q = np.array([[0.0], [0.1]])  # the angle of a pendulum at two samples
        >>> tip = np.column_stack([np.sin(q[:, 0]), -np.cos(q[:, 0])])
        >>> rod = line(np.stack([np.zeros_like(tip), tip], axis=1), width=0.05)
        >>> scene = Scene((rod, disc(tip, 0.1)), low=(-1.2, -1.2), high=(1.2, 1.2))
    """

    shapes: tuple[Shape, ...]
    """The shapes, from back to front."""
    low: tuple[float, float]
    """The lower left corner of the visible part of the plane."""
    high: tuple[float, float]
    """The upper right corner of the visible part of the plane."""


def line(points: np.ndarray, width: float, role: Role = "body") -> Shape:
    """A line through n points (samples, n, 2) or (n, 2), with round ends."""
    return Shape("line", np.asarray(points, dtype=float), width, role)


def polygon(points: np.ndarray, role: Role = "body") -> Shape:
    """A filled polygon with n corners (samples, n, 2) or (n, 2)."""
    return Shape("polygon", np.asarray(points, dtype=float), 0.0, role)


def disc(centre: np.ndarray, radius: float, role: Role = "body") -> Shape:
    """A filled circle with the centre (samples, 2) or (2,)."""
    return Shape("disc", np.asarray(centre, dtype=float)[..., None, :], radius, role)


def trace(points: np.ndarray, role: Role = "body") -> Shape:
    """The path (samples, 2) of a point, drawn up to the current sample."""
    return Shape("trace", np.asarray(points, dtype=float)[:, None, :], 0.0, role)


def label(text: str, place: tuple[float, float]) -> Shape:
    """A text centred at a place that does not move."""
    return Shape("label", np.array([place], dtype=float), 0.0, "frame", text)
