"""Machines with safe ranges, with and without the ranges in the optimisation: how many trials leave them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vfpilco.common.plotting import new_figure, save
from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.figures import DPI, label_rows
from vfpilco.studies.groups import Group, groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.shelf import UNTIL, first_successes, median_trial, successes
from vfpilco.studies.tables import markdown_table

FOLDER = "examples/safety"
MACHINES = {"rail": "cartpole_on_a_rail", "cable": "furuta_with_a_cable", "crane": "crane"}
"""The task file of every machine."""


def left(record: RunRecord, kind: str = "policy") -> list[bool]:
    """Whether each trial of a run left a safe range: nothing else ends a trial of these machines early."""
    return [row.ended_s is not None for row in record.results if row.kind == kind]


def _table(study: Study, records: list[RunRecord]) -> str:
    """The trials that left a safe range, of all that were made, and when runs succeeded."""
    header = ["", "runs", "trials that left a safe range", "explorations that did", "solved", "median first success"]
    return markdown_table(header, [_row(group) for group in groups(study, records)])


def _row(group: Group) -> list[str]:
    trials, explorations = (
        [out for record in group.records for out in left(record, kind)] for kind in ("policy", "explore")
    )
    first = first_successes(group.records)
    return [
        group.name,
        str(len(group.records)),
        f"{sum(trials)} of {len(trials)}",
        f"{sum(explorations)} of {len(explorations)}",
        f"{int(np.isfinite(first).sum())} of {len(first)}",
        median_trial(first),
    ]


def _figure(study: Study, records: list[RunRecord], file: Path) -> None:
    """A line for every run, a mark for every trial: a cross if it left, a filled dot if it succeeded."""
    shown = groups(study, records)
    figure = new_figure(8, 1 + 0.9 * len(shown))
    axis = figure.subplots()
    for row, group in enumerate(shown):
        places = row + np.linspace(-0.35, 0.35, len(group.records) + 2)[1:-1]
        for place, record in zip(places, group.records, strict=True):
            for trial, (out, success) in enumerate(zip(left(record), successes(record), strict=True), start=1):
                face = group.colour if success or out else "white"
                axis.plot(trial, place, "x" if out else "o", color=group.colour, markerfacecolor=face, markersize=5)
    label_rows(axis, [group.label for group in shown], study.trials, "cross: left a safe range; filled: success")
    save(figure, file, dpi=DPI)


SAFETY = Study(
    name="safety",
    summary="machines with safe ranges, with and without these in the optimisation",
    task="",
    trials=6,
    configurations=tuple(
        Configuration(name, settings, task=f"{FOLDER}/{file}.py")
        for machine, file in MACHINES.items()
        for name, settings in ((machine, {}), (f"{machine}-without", {"risk_bound": 1.0}))
    ),
    figure=_figure,
    table=_table,
    published_runs=10,
    folder=FOLDER,
    until_successes=UNTIL,
)
