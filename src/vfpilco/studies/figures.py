"""The paper's figure types, from the records of a study."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.picture import pyplot, save
from vfpilco.studies.base import Record, Study
from vfpilco.studies.statistics import costs as costs_of
from vfpilco.studies.statistics import interval, successes

COLOURS = ("#c2410c", "#2563eb", "#0f766e", "#7c3aed", "#a16207", "#be185d", "#475569", "#65a30d", "#0891b2")


def groups(study: Study, records: list[Record]) -> list[tuple[str, str, list[Record]]]:
    """Name, colour and records of every configuration that has been run."""
    found = []
    for configuration, colour in zip(study.configurations, cycle(COLOURS), strict=False):
        mine = [record for record in records if record["configuration"] == configuration.name]
        if mine:
            found.append((configuration.name, colour, mine))
    return found


def costs(study: Study, records: list[Record], file: Path) -> None:
    """Median and 5 to 95 percent range of the cost per trial, and the success rates with their intervals."""
    figure, axes = pyplot().subplots(2, 1, figsize=(8, 7), constrained_layout=True, sharex=True)
    draw_costs(study, records, *axes)
    save(figure, file, dpi=150)


def draw_costs(study: Study, records: list[Record], above: Any, below: Any) -> None:
    """Costs on the upper axis, success rates on the lower one, published ones as crosses."""
    shown = groups(study, records)
    published = {configuration.name: 100 * np.array(configuration.published) for configuration in study.configurations}
    for i, (name, colour, mine) in enumerate(shown):
        offset = 0.08 * (i - (len(shown) - 1) / 2)
        cost = costs_of(mine)
        trial = np.arange(cost.shape[1])
        low, middle, high = np.quantile(cost, [0.05, 0.5, 0.95], axis=0)
        bars = np.stack([middle - low, high - middle])
        above.errorbar(trial + offset, middle, bars, color=colour, marker="o", capsize=2, linewidth=1.2)
        rate = successes(mine).mean(0)
        ends = np.array([interval(int(k), len(mine)) for k in successes(mine).sum(0)]).T
        bars = np.abs(ends - rate)
        label = f"{name} ({len(mine)} runs)"
        below.errorbar(
            trial[1:] + offset, 100 * rate, 100 * bars, color=colour, marker="o", capsize=2, linewidth=1.2, label=label
        )
        theirs = published[name]
        below.plot(trial[1 : len(theirs) + 1] + offset, theirs, "x:", color=colour, linewidth=0.8)
    if any(len(published[name]) for name, _, _ in shown):
        below.plot([], [], "x:", color="gray", linewidth=0.8, label="published")
    above.set_ylabel("cost: median, 5 to 95 %")
    below.set_ylabel("success [%], 95 % interval")
    below.set_xlabel("trial (0: exploration)")
    below.set_xticks(range(study.trials + 1))
    below.set_ylim(-3, 103)
    for axis in (above, below):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    below.legend(fontsize=8, frameon=False, loc="upper left")


def boxes(study: Study, records: list[Record], file: Path, positions: list[tuple[str, str, float]]) -> None:
    """Box plots of absolute one-step errors, a panel per position: (name, unit, factor)."""
    plt = pyplot()
    shown = groups(study, records)
    figure, axes = plt.subplots(1, len(positions), figsize=(9, 4), constrained_layout=True, squeeze=False)
    for i, (name, unit, factor) in enumerate(positions):
        axis = axes[0, i]
        errors = [factor * np.concatenate([record["one_step_errors"][i] for record in mine]) for _, _, mine in shown]
        boxes = axis.boxplot(errors, patch_artist=True, flierprops={"markersize": 2}, medianprops={"color": "black"})
        for box, (_, colour, _) in zip(boxes["boxes"], shown, strict=True):
            box.set(facecolor=colour, alpha=0.5)
        axis.set_xticks(range(1, len(shown) + 1), [label for label, _, _ in shown], rotation=20, fontsize=8)
        axis.set_ylabel(f"|error of {name}| one step ahead [{unit}]")
        axis.spines[["top", "right"]].set_visible(False)
    save(figure, file, dpi=150)
