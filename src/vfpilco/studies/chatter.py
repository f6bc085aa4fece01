"""How much inputs chatter with and without a cost of their changes, on built-in tasks and laboratory machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vfpilco.common.plotting import new_figure, save
from vfpilco.machines.load import names
from vfpilco.studies import shelf
from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.figures import DPI, open_frame
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.shelf import successes
from vfpilco.studies.statistics import fewer
from vfpilco.studies.tables import markdown_table

TASKS = {name: name for name in names()} | {
    name.replace("_", "-"): f"{shelf.FOLDER}/{name}.py" for name in shelf.MACHINES
}
"""The task of every row."""
WITHOUT = "-without"
"""The end of the name of a configuration where changes of inputs cost nothing."""


def settled(records: list[RunRecord]) -> list[float]:
    """The chatter in the last trial of every run that ended with a success, in percent of the input limits."""
    return [100 * record.chatter[-1] for record in records if successes(record)[-1]]


def _pairs(study: Study, records: list[RunRecord]) -> dict[str, list[list[RunRecord]]]:
    """The runs of every task that has been run, without and with the cost."""
    found = {group.name: group.records for group in groups(study, records)}
    pairs = {name: [found.get(name + end, []) for end in (WITHOUT, "")] for name in TASKS}
    return {name: pair for name, pair in pairs.items() if any(pair)}


def _table(study: Study, records: list[RunRecord]) -> str:
    """Solved runs and chatter of every task, without and with the cost; below, the solved runs of all.

    `p` is the one-sided p-value of so few solved runs with the cost, if it changed nothing (Fisher's exact test).
    """
    pairs = _pairs(study, records)
    rows = [
        [name, *map(_solved, pair), _p_value(pair), *map(_chatter, pair), _ratio(pair)] for name, pair in pairs.items()
    ]
    together = [[record for pair in pairs.values() for record in pair[i]] for i in range(2)]
    header = [
        "",
        "solved without",
        "solved with",
        "p (fewer with)",
        "chatter without [%]",
        "chatter with [%]",
        "with / without",
    ]
    return markdown_table(header, [*rows, ["all", *map(_solved, together), _p_value(together), "", "", ""]])


def _count(records: list[RunRecord]) -> int:
    return sum(any(successes(record)) for record in records)


def _solved(records: list[RunRecord]) -> str:
    return f"{_count(records)} of {len(records)}"


def _p_value(pair: list[list[RunRecord]]) -> str:
    without, with_cost = pair
    if not without or not with_cost:
        return ""
    return f"{fewer(_count(with_cost), len(with_cost), _count(without), len(without)):.2f}"


def _chatter(records: list[RunRecord]) -> str:
    found = settled(records)
    return f"{np.median(found):.2g}" if found else "no success"


def _ratio(pair: list[list[RunRecord]]) -> str:
    without, with_cost = map(settled, pair)
    return f"{np.median(with_cost) / np.median(without):.2f}" if without and with_cost and np.any(without) else ""


def _figure(study: Study, records: list[RunRecord], file: Path) -> None:
    """A dot for every run that ended with a success, on a line for every task: hollow without the cost."""
    pairs = _pairs(study, records)
    figure = new_figure(8, 1.2 + 0.35 * len(pairs))
    axis = figure.subplots()
    for row, pair in enumerate(pairs.values()):
        for found, face, place in zip(map(settled, pair), ("white", "#c2410c"), (-0.15, 0.15), strict=True):
            axis.scatter(found, np.full(len(found), row + place), s=22, edgecolors="#c2410c", color=face)
    axis.set_yticks(range(len(pairs)), list(pairs))
    axis.set_ylim(len(pairs) - 0.5, -0.5)
    axis.set_xscale("symlog", linthresh=0.01)
    axis.set_xlim(0, 200)
    axis.set_xlabel("mean |Δu| in the last second [% of the limit]; filled: changes of inputs cost a little")
    axis.grid(alpha=0.25, axis="x")
    open_frame(axis)
    save(figure, file, dpi=DPI)


CHATTER = Study(
    name="chatter",
    summary="how much inputs change in the last second (mean |Δu|), with and without a cost of these changes",
    task="",
    trials=6,
    configurations=tuple(
        Configuration(name + end, settings, task=task)
        for name, task in TASKS.items()
        for end, settings in (("", {}), (WITHOUT, {"input_change_penalty": 0.0}))
    ),
    figure=_figure,
    table=_table,
    published_runs=5,
    folder=shelf.FOLDER,
    until_successes=shelf.UNTIL,
)
