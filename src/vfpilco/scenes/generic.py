"""Any machine: a dial for every angle, a slider for every other position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from vfpilco.scenes.base import Scene, Shape, disc, label, line

COLUMNS = 3
CELL = 2.6
"""Width and height of the place of an instrument; a dial's radius is 1."""


def instruments(positions: Sequence[Any], spans: np.ndarray) -> Callable[[np.ndarray], Scene]:
    """The scene of positions with `name`, `unit` and `angle`; sliders go over `spans`, (d_q, 2)."""
    return partial(_scene, tuple(positions), spans)


def _scene(positions: tuple[Any, ...], spans: np.ndarray, q: np.ndarray) -> Scene:
    shapes: list[Shape] = []
    for i, (position, span) in enumerate(zip(positions, spans, strict=True)):
        middle = CELL * np.array([i % COLUMNS, -(i // COLUMNS)])
        name = f"{position.name} [{position.unit}]"
        shapes += _dial(q[:, i], middle, name) if position.angle else _slider(q[:, i], span, middle, name)
    columns, rows = min(len(positions), COLUMNS), -(-len(positions) // COLUMNS)
    return Scene(
        tuple(shapes), (-CELL / 2, -CELL * (rows - 1) - 0.58 * CELL), (CELL * (columns - 1) + CELL / 2, CELL / 2)
    )


def _dial(angle: np.ndarray, middle: np.ndarray, name: str) -> list[Shape]:
    """A hand that is up at zero and turns clockwise."""
    phase = np.linspace(0, 2 * np.pi, 49)
    hand = middle + 0.9 * np.column_stack([np.sin(angle), np.cos(angle)])
    marks = [
        line(middle + np.outer([0.92, 1.0], [np.sin(a), np.cos(a)]), 0.03, "frame") for a in np.arange(8) * np.pi / 4
    ]
    return [
        line(middle + np.column_stack([np.cos(phase), np.sin(phase)]), 0.03, "frame"),
        *marks,
        line(np.stack([np.broadcast_to(middle, hand.shape), hand], axis=1), 0.07),
        disc(np.array(middle), 0.07, "frame"),
        label(name, (middle[0], middle[1] - 1.25)),
    ]


def _slider(value: np.ndarray, span: np.ndarray, middle: np.ndarray, name: str) -> list[Shape]:
    """A bead on a rail."""
    low, high = span
    along = 2 * (value - low) / max(high - low, 1e-12) - 1
    bead = middle + np.column_stack([along, np.zeros_like(along)])
    return [
        line(middle + np.array([[-1.0, 0.0], [1.0, 0.0]]), 0.05, "frame"),
        disc(bead, 0.13),
        label(f"{low:.3g}", (middle[0] - 1, middle[1] - 0.35)),
        label(f"{high:.3g}", (middle[0] + 1, middle[1] - 0.35)),
        label(name, (middle[0], middle[1] - 1.25)),
    ]
