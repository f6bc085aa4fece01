"""What axes show beside data: targets, safe ranges and limits, and a legend above, where it covers nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

TARGET, LIMIT = "#16a34a", "#dc2626"
"""The colours of targets, and of safe ranges and limits."""
NEAR = 0.6
"""How far beyond the data a line may be, as a fraction of their range, to be brought into view."""


def draw_target(axis: Any, target: np.ndarray, sampling_time: float, angle: bool) -> None:
    """Draw where a position should be, one value per sample; the data are there already."""
    if not np.isfinite(target).any():
        return
    low, high = axis.get_ylim()
    t = np.arange(len(target)) * sampling_time
    for line in equivalents(target, low, high, angle):
        axis.plot(t, line, color=TARGET, linewidth=1, linestyle="--", zorder=1, label=_once(axis, "target"))


def draw_range(axis: Any, ends: tuple[float, float], name: str = "safe range") -> None:
    """Draw the ends of a range that are near the data; the legend says where the others are."""
    low, high = axis.get_ylim()
    near = [end for end in ends if low - NEAR * (high - low) <= end <= high + NEAR * (high - low)]
    for end in near:
        axis.axhline(end, **_dotted(_once(axis, name)))
    if not near:
        axis.set_ylim(low, high)
        _elsewhere(axis, ends, name)


def draw_limit(axis: Any, limit: float) -> None:
    """Draw the limits of an input."""
    for sign in (-1, 1):
        axis.axhline(sign * limit, **_dotted(_once(axis, "limit")))


def draw_across(axis: Any, target: float, ends: tuple[float, float] | None, angle: bool) -> None:
    """Draw target and safe range of the position on the horizontal axis, whose range stays as it is.

    Args:
        axis: Where to draw.
        target: Where the position should be; NaN if that is anywhere.
        ends: Its safe range, if it has one.
        angle: Whether it is an angle, whose targets a full turn apart are equally good.
    """
    low, high = axis.get_xlim()
    targets = equivalents(np.array([target]), low, high, angle) if np.isfinite(target) else []
    for (place,) in targets:
        if low <= place <= high:
            axis.axvline(place, color=TARGET, linewidth=1, linestyle="--", label=_once(axis, "target"))
    inside = [end for end in ends or () if low <= end <= high]
    for end in inside:
        axis.axvline(end, **_dotted(_once(axis, "safe range")))
    if ends is not None and not inside:
        _elsewhere(axis, ends, "safe range")
    axis.set_xlim(low, high)


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


def legend_above(axis: Any, size: float = 8, columns: int = 6, title: str = "") -> None:
    """Put the legend above the axes, where it covers no data, and above it a title; nothing if there are no labels."""
    if axis.get_legend_handles_labels()[1]:
        axis.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=size, frameon=False, borderaxespad=0.2,
            handlelength=1.4, columnspacing=1.2, title=title or None, title_fontsize=size + 1, alignment="left",
        )  # fmt: skip
    elif title:
        axis.set_title(title, fontsize=size + 1, loc="left")


def _elsewhere(axis: Any, ends: tuple[float, float], name: str) -> None:
    """Let the legend say where a range ends that is not in view."""
    axis.plot([], [], **_dotted(f"{name} {ends[0]:g} to {ends[1]:g}"))


def _dotted(label: str | None) -> dict[str, Any]:
    return {"color": LIMIT, "linewidth": 0.8, "linestyle": ":", "label": label}


def _once(axis: Any, label: str) -> str | None:
    """A label for the first line of several alike."""
    return None if label in axis.get_legend_handles_labels()[1] else label
