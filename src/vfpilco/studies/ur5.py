"""The paper's UR5 experiment (Sec. V)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from vfpilco.common.axes import legend_above
from vfpilco.common.plotting import new_figure, save
from vfpilco.machines.ur5.plant import flange
from vfpilco.model.kernels import SE, Linear
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.prior_mean import ZeroMean
from vfpilco.policy.rbf import LinearRBF
from vfpilco.state.window import VelocityFree
from vfpilco.studies.base import Configuration, Study, load_task
from vfpilco.studies.figures import DPI, open_frame
from vfpilco.studies.groups import COLOURS, Group, groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.tables import markdown_table, trial_names

ERROR = "end-effector error"
BOUND = 2.0
"""The error that a learned policy should not exceed, mm."""
PINNED = {
    "state": VelocityFree(2, 1),
    "kernel": SE() + Linear(on=("angles", "rates", "inputs")),
    "policy": LinearRBF(400),
    "particles": 200,
    "steps": 400,
    "learning_rate": 4e-3,
    "final_learning_rate": 1e-3,
    "tolerance": 0.002,
    "gradient_decay": 0.9,  # exact gradients may lead to feedback that shakes the arm
    "clip": 3.0,
    "input_change_penalty": 0.0,
    "inducing": 128,
}
"""The settings of the published table, whatever the defaults are now; "default" is the row without any change."""


def errors(records: list[RunRecord]) -> Float[np.ndarray, "runs executions"]:
    """The mean end-effector error of exploration and trials, run by run, mm."""
    return np.array([[row.measures[ERROR] for row in record.results] for record in records])


def _table(study: Study, records: list[RunRecord]) -> str:
    """Median and largest error of each trial, runs within the bound, and how long a run took; then every run."""
    names = ["exploration", *trial_names(study.trials)]
    medians, single = [], []
    for group in groups(study, records):
        found, runs = errors(group.records), len(group.records)
        cells = [f"{np.median(column):.2f} (largest {column.max():.2f})" for column in found.T]
        minutes = np.median([record.seconds for record in group.records]) / 60
        within = f"{int((found[:, -1] <= BOUND).sum())} of {runs}"
        medians.append([group.name, str(runs), *cells, within, f"{minutes:.0f}"])
        for record, row in zip(group.records, found, strict=True):
            single.append([f"{group.name}, seed {record.seed}", *(f"{error:.2f}" for error in row)])
    bound = f"at most {BOUND:.0f} mm in the end"
    header = ["mean end-effector error [mm]", "runs", *names, bound, "minutes"]
    return f"{markdown_table(header, medians)}\n\n{markdown_table(['run', *names], single)}"


def _figure(study: Study, records: list[RunRecord], file: Path) -> None:
    """Box plots of the error in exploration and every trial; the paths of one run, seen from above."""
    figure = new_figure(10, 4.4)
    boxes, paths = figure.subplots(1, 2)
    shown = groups(study, records)
    _draw_errors(study, shown, boxes)
    _draw_paths(study, shown[0].records[0], paths)
    open_frame(boxes, paths)
    save(figure, file, dpi=DPI)


def _draw_errors(study: Study, shown: list[Group], axis: Any) -> None:
    width = 0.7 / len(shown)
    for i, group in enumerate(shown):
        drawn = axis.boxplot(
            list(errors(group.records).T),
            positions=np.arange(study.trials + 1) + width * (i - (len(shown) - 1) / 2),
            widths=0.85 * width,
            patch_artist=True,
            medianprops={"color": "black"},
            manage_ticks=False,
        )
        for box in drawn["boxes"]:
            box.set(facecolor=group.colour, alpha=0.5)
        axis.plot([], [], color=group.colour, linewidth=6, alpha=0.5, label=group.label)
    axis.axhline(BOUND, color="0.5", linestyle="--", linewidth=1, label=f"{BOUND:.0f} mm")
    axis.set_yscale("log")
    axis.set_xticks(range(study.trials + 1), ["exploration", *map(str, range(1, study.trials + 1))])
    axis.set_xlabel("trial")
    axis.set_ylabel("mean end-effector error [mm]")
    legend_above(axis)


def _draw_paths(study: Study, run: RunRecord, axis: Any) -> None:
    reference = load_task(study.task).reference
    assert reference is not None
    goal = 1e3 * flange(reference)
    axis.plot(goal[:, 0], goal[:, 1], color="0.6", linewidth=5, alpha=0.5, label="reference")
    colours, labels = (COLOURS[i] for i in (3, 4, 2, 0)), ["exploration", *trial_names(study.trials)]
    for path, colour, label in zip(run.paths, colours, labels, strict=False):
        drawn = 1e3 * np.array(path)
        axis.plot(drawn[:, 0], drawn[:, 1], color=colour, linewidth=1.2, label=label)
    axis.set_aspect("equal")
    axis.set_xlabel("x [mm]")
    axis.set_ylabel("y [mm]")
    legend_above(axis, columns=3, title=f"seed {run.seed}, seen from above")


CIRCLE = Study(
    name="ur5",
    summary="a six-joint arm draws a circle, from joint angles alone",
    task="ur5",
    trials=3,
    configurations=(
        Configuration("default", PINNED),
        Configuration(
            "paper",
            {
                **PINNED,
                "kernel": SE(),
                "prior_mean": ZeroMean(),
                "noise": WhiteNoise(),
                "gradient_decay": 1.0,
                "steps": 1000,
            },
        ),
    ),
    figure=_figure,
    table=_table,
    published_runs=10,
    path=flange,
)

DEFAULT = replace(
    CIRCLE,
    name="ur5-default",
    summary="the arm with the default settings: everything is chosen from the data",
    configurations=(Configuration("default", {}),),
)
