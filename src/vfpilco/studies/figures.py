"""The paper's types of figures, from the records of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.common.plotting import new_figure, save
from vfpilco.common.statistics import interval
from vfpilco.studies.base import Study
from vfpilco.studies.groups import Group, groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.statistics import costs, successes

DPI = 150


class Quantity(NamedTuple):
    """A position in a figure: its name, its unit there, and the factor to that unit."""

    name: str
    unit: str
    factor: float


def open_frame(*axes: Any) -> None:
    """Draw axes without their upper and right lines."""
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)


def draw_study(study: Study, records: list[RunRecord], file: Path) -> None:
    """Median and 5 to 95 percent range of the cost per trial, and the success rates with their intervals."""
    figure = new_figure(8, 7)
    axes = figure.subplots(2, 1, sharex=True)
    draw_costs(study, records, *axes)
    save(figure, file, dpi=DPI)


def draw_costs(study: Study, records: list[RunRecord], above: Any, below: Any) -> None:
    """Costs on the upper axis, success rates on the lower one, published ones as crosses."""
    shown = groups(study, records)
    for i, group in enumerate(shown):
        offset = 0.08 * (i - (len(shown) - 1) / 2)
        _draw_cost(group, offset, above)
        _draw_success(group, offset, below)
    if any(group.configuration.published for group in shown):
        below.plot([], [], "x:", color="gray", linewidth=0.8, label="published")
    above.set_ylabel("cost: median, 5 to 95 %")
    below.set_ylabel("success [%], 95 % interval")
    below.set_xlabel("trial (0: exploration)")
    below.set_xticks(range(study.trials + 1))
    below.set_ylim(-3, 103)
    for axis in (above, below):
        axis.grid(alpha=0.25)
    open_frame(above, below)
    legend_above(below, columns=4)


def _draw_cost(group: Group, offset: float, axis: Any) -> None:
    cost = costs(group.records)
    low, middle, high = np.quantile(cost, [0.05, 0.5, 0.95], axis=0)
    bars = np.stack([middle - low, high - middle])
    _draw_bars(axis, np.arange(cost.shape[1]) + offset, middle, bars, group.colour)


def _draw_success(group: Group, offset: float, axis: Any) -> None:
    succeeded, published = successes(group.records), 100 * np.array(group.configuration.published)
    trial = np.arange(1, succeeded.shape[1] + 1) + offset
    rate = succeeded.mean(0)
    ends = np.array([interval(int(k), len(succeeded)) for k in succeeded.sum(0)]).T
    _draw_bars(axis, trial, 100 * rate, 100 * np.abs(ends - rate), group.colour, group.label)
    axis.plot(trial[: len(published)], published, "x:", color=group.colour, linewidth=0.8)


def _draw_bars(axis: Any, x: Any, y: Any, bars: Any, colour: str, label: str | None = None) -> None:
    axis.errorbar(x, y, bars, color=colour, marker="o", capsize=2, linewidth=1.2, label=label)


def draw_errors(study: Study, records: list[RunRecord], file: Path, positions: list[Quantity]) -> None:
    """Box plots of absolute one-step errors, a panel per position."""
    shown = groups(study, records)
    figure = new_figure(9, 4)
    axes = figure.subplots(1, len(positions), squeeze=False)
    for i, (axis, (name, unit, factor)) in enumerate(zip(axes[0], positions, strict=True)):
        errors = [factor * np.concatenate([record.one_step_errors[i] for record in g.records]) for g in shown]
        boxes = axis.boxplot(errors, patch_artist=True, flierprops={"markersize": 2}, medianprops={"color": "black"})
        for box, group in zip(boxes["boxes"], shown, strict=True):
            box.set(facecolor=group.colour, alpha=0.5)
        axis.set_xticks(range(1, len(shown) + 1), [group.name for group in shown], rotation=20, fontsize=8)
        axis.set_ylabel(f"|error of {name}| one step ahead [{unit}]")
        open_frame(axis)
    save(figure, file, dpi=DPI)


def label_rows(axis: Any, labels: Sequence[str], trials: int, marks: str) -> None:
    """Label a figure with a row for every configuration and a mark for every trial; `marks` says what they mean."""
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.set_xticks(range(1, trials + 1))
    axis.set_xlabel(f"trial; {marks}")
    open_frame(axis)
