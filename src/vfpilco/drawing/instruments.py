"""A drawing of any machine: a dial for every angle, a slider for every other position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
from jaxtyping import Float

from vfpilco.drawing.shapes import Scene, Shape, disc, label, line

COLUMNS = 3
"""Instruments in a row."""
CELL = 2.6
"""Width and height of the cell of an instrument; the radius of a dial is 1."""


class Instrumented(Protocol):
    """What has to be known about a position to draw its instrument."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def unit(self) -> str:
        """Its unit."""
        ...

    @property
    def angle(self) -> bool:
        """Whether it is an angle, in rad."""
        ...


def instruments(positions: Sequence[Instrumented], ranges: Float[np.ndarray, "d_q 2"]) -> Callable[[np.ndarray], Scene]:
    """Draw positions as instruments.

    Args:
        positions: Name and unit of every position, and whether it is an angle.
        ranges: The lowest and the highest value on the slider of every position; not used for angles.

    Returns:
        A function that turns positions (samples, d_q) into a scene.
    """
    return partial(_scene, tuple(positions), ranges)


def instruments_for(
    positions: Sequence[Instrumented], trials: Sequence[Float[np.ndarray, "samples d_q"]]
) -> Callable[[np.ndarray], Scene]:
    """Draw positions as instruments whose sliders reach as far as the positions of these trials do."""
    q = np.concatenate(trials)
    ranges = np.stack([q.min(0), q.max(0)], axis=-1)
    return instruments(positions, np.array([[float(f"{end:.2g}") for end in ends] for ends in ranges]))


def _scene(positions: tuple[Instrumented, ...], ranges: np.ndarray, q: np.ndarray) -> Scene:
    shapes: list[Shape] = []
    for i, (position, ends) in enumerate(zip(positions, ranges, strict=True)):
        middle = CELL * np.array([i % COLUMNS, -(i // COLUMNS)])
        name = f"{position.name} [{position.unit}]"
        shapes += _dial(q[:, i], middle, name) if position.angle else _slider(q[:, i], ends, middle, name)
    columns, rows = min(len(positions), COLUMNS), -(-len(positions) // COLUMNS)
    return Scene(
        tuple(shapes), (-CELL / 2, -CELL * (rows - 1) - 0.58 * CELL), (CELL * (columns - 1) + CELL / 2, CELL / 2)
    )


def _dial(angle: np.ndarray, middle: np.ndarray, name: str) -> list[Shape]:
    """A hand that points up at zero and turns clockwise."""
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


def _slider(value: np.ndarray, ends: np.ndarray, middle: np.ndarray, name: str) -> list[Shape]:
    """A bead on a rail."""
    low, high = ends
    along = 2 * (value - low) / max(high - low, 1e-12) - 1
    bead = middle + np.column_stack([along, np.zeros_like(along)])
    return [
        line(middle + np.array([[-1.0, 0.0], [1.0, 0.0]]), 0.05, "frame"),
        disc(bead, 0.13),
        label(f"{low:.3g}", (middle[0] - 1, middle[1] - 0.35)),
        label(f"{high:.3g}", (middle[0] + 1, middle[1] - 0.35)),
        label(name, (middle[0], middle[1] - 1.25)),
    ]
