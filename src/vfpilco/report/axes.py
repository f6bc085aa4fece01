"""What the axes of a report's figures show beside data: bands, and the lines of positions and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.axes import draw_limit, draw_range, draw_target
from vfpilco.common.plotting import PREDICTED
from vfpilco.tasks.machine import Input, Position


def band(axis: Any, t: np.ndarray, particles: np.ndarray) -> None:
    """Draw the 95 % band of the particles (samples, M), and their median."""
    low, high = np.quantile(particles, [0.025, 0.975], axis=1)
    axis.fill_between(t, low, high, color=PREDICTED, alpha=0.25, linewidth=0, label="95 % of the particles")
    axis.plot(t, np.median(particles, axis=1), color=PREDICTED, linewidth=1, label="their median")


def draw_goals(axis: Any, position: Position, target: np.ndarray | None, sampling_time: float) -> None:
    """Draw where a position should be, one value per sample, and where it may go; the data are there already."""
    if target is not None:
        draw_target(axis, target, sampling_time, position.angle)
    if position.safe is not None:
        draw_range(axis, position.safe)


def draw_limits(axis: Any, channel: Input) -> None:
    """Draw the limits of an input, always in view."""
    draw_limit(axis, channel.limit)
    axis.set_ylim(-1.08 * channel.limit, 1.08 * channel.limit)
