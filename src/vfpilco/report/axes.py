"""What the axes of every figure show beside data: bands, targets, safe ranges, limits, and a legend above."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.plotting import PREDICTED
from vfpilco.tasks.machine import Input, Position

TARGET, LIMIT = "#16a34a", "#dc2626"
"""The colours of targets, and of safe ranges and limits."""
NEAR = 0.6
"""How far beyond the data a line may be, as a fraction of their range, to be brought into view."""


def band(axis: Any, t: np.ndarray, particles: np.ndarray) -> None:
    """Draw the 95 % band of the particles (samples, M), and their median."""
    low, high = np.quantile(particles, [0.025, 0.975], axis=1)
    axis.fill_between(t, low, high, color=PREDICTED, alpha=0.25, linewidth=0, label="95 % of the particles")
    axis.plot(t, np.median(particles, axis=1), color=PREDICTED, linewidth=1, label="their median")


def draw_goals(axis: Any, position: Position, target: np.ndarray | None, sampling_time: float) -> None:
    """Draw where a position should be, one value per sample, and where it may go; the data are there already."""
    low, high = axis.get_ylim()
    if target is not None and np.isfinite(target).any():
        t = np.arange(len(target)) * sampling_time
        for line in equivalents(target, low, high, position.angle):
            axis.plot(t, line, color=TARGET, linewidth=1, linestyle="--", zorder=1, label=_once(axis, "target"))
        low, high = axis.get_ylim()
    if position.safe is not None:
        _lines(axis, position.safe, "safe range", low, high)


def equivalents(target: np.ndarray, low: float, high: float, angle: bool) -> list[np.ndarray]:
    """A target, or those of an angle full turns apart that are in view; the nearest one if none is."""
    if not angle:
        return [target]
    middle, turn = float(np.nanmean(target)), 2 * np.pi
    first, last = np.ceil((low - middle) / turn), np.floor((high - middle) / turn)
    turns = np.arange(first, last + 1)
    if not len(turns):
        turns = np.array([np.round(((low + high) / 2 - middle) / turn)])
    return [target + k * turn for k in turns]


def draw_limits(axis: Any, channel: Input) -> None:
    """Draw the limits of an input, always in view."""
    for sign in (-1, 1):
        axis.axhline(sign * channel.limit, color=LIMIT, linewidth=0.8, linestyle=":", label=_once(axis, "limit"))
    axis.set_ylim(-1.08 * channel.limit, 1.08 * channel.limit)


def _lines(axis: Any, ends: tuple[float, float], name: str, low: float, high: float) -> None:
    """Draw the ends of a range that are near the data; the legend says where the others are."""
    near = [end for end in ends if low - NEAR * (high - low) <= end <= high + NEAR * (high - low)]
    for end in near:
        axis.axhline(end, color=LIMIT, linewidth=0.8, linestyle=":", label=_once(axis, name))
    if not near:
        axis.set_ylim(low, high)
        axis.plot([], [], color=LIMIT, linewidth=0.8, linestyle=":", label=f"{name} {ends[0]:g} to {ends[1]:g}")


def _once(axis: Any, label: str) -> str | None:
    """A label for the first line of several alike."""
    return None if label in axis.get_legend_handles_labels()[1] else label


def legend_above(axis: Any, size: int = 8) -> None:
    """Put the legend above the axes, where it covers no data."""
    axis.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=6, fontsize=size, frameon=False, borderaxespad=0.2,
        handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip
