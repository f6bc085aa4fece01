"""The machines in examples/machines with default settings: how many are solved, and at which trial."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from jaxtyping import Float

from vfpilco.common.plotting import new_figure, save
from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.figures import DPI, label_rows
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.tables import markdown_table

FOLDER = "examples/machines"
MACHINES = (
    "reaction_wheel_pendulum",
    "ball_and_beam",
    "balancing_robot",
    "helicopter",
    "magnetic_levitation",
    "flexible_link",
    "cartpole_with_backlash",
    "pneumatic_positioner",
    "end_stop_slider",
)


UNTIL = 2
"""A run has solved its machine, and ends, after so many successes in a row."""


def successes(record: RunRecord) -> list[bool]:
    """Whether a run succeeded at each of its trials."""
    return [row.success for row in record.results if row.kind == "policy"]


def first_successes(records: list[RunRecord]) -> Float[np.ndarray, "runs"]:
    """The first trial at which each run succeeded; infinite if it did not."""
    found = [successes(record) for record in records]
    return np.array([trials.index(True) + 1.0 if True in trials else np.inf for trials in found])


def _table(study: Study, records: list[RunRecord]) -> str:
    """The solved runs of every machine and the median of their first successful trials; below, those of all."""
    rows = [_row(group.name, first_successes(group.records)) for group in groups(study, records)]
    rows.append(_row("all", first_successes(records)))
    header = ["machine", f"solved within {study.trials} trials", "median first successful trial"]
    return markdown_table(header, rows)


def _row(name: str, first: Float[np.ndarray, "runs"]) -> list[str]:
    return [name, f"{int(np.isfinite(first).sum())} of {len(first)}", median_trial(first)]


def median_trial(first: Float[np.ndarray, "runs"]) -> str:
    """The median of first successful trials; of an even number of runs the later one of the two in the middle."""
    median = float(np.quantile(first, 0.5, method="higher"))
    return "none" if math.isinf(median) else f"{median:.0f}"


def successes_figure(study: Study, records: list[RunRecord], file: Path) -> None:
    """A line for every run with a dot for every trial it made, filled if it was a success."""
    shown = groups(study, records)
    figure = new_figure(8, 1 + 0.7 * len(shown))
    axis = figure.subplots()
    for row, group in enumerate(shown):
        found = [successes(record) for record in group.records]
        for place, success in zip(row + np.linspace(-0.3, 0.3, len(found) + 2)[1:-1], found, strict=True):
            trial, y = np.arange(1, len(success) + 1), np.full(len(success), place)
            axis.plot(trial, y, color=group.colour, linewidth=0.5, alpha=0.5)
            axis.scatter(
                trial, y, s=22, edgecolors=group.colour, color=np.where(success, group.colour, "white"), zorder=2
            )
    label_rows(axis, [group.label for group in shown], study.trials, "filled: success")
    save(figure, file, dpi=DPI)


SHELF = Study(
    name="shelf",
    summary="machines of control laboratories that nothing was tuned for, with default settings",
    task="",
    trials=6,
    configurations=tuple(Configuration(name.replace("_", "-"), {}, task=f"{FOLDER}/{name}.py") for name in MACHINES),
    figure=successes_figure,
    table=_table,
    published_runs=5,
    folder=FOLDER,
    until_successes=UNTIL,
)
