"""The paper's UR5 experiment (Sec. V)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vfpilco import tasks
from vfpilco.picture import pyplot, save
from vfpilco.studies.base import Configuration, Record, Study
from vfpilco.studies.figures import COLOURS, groups

ERROR = "end-effector error"
BOUND = 2.0
"""The error that a learned policy should not exceed, mm."""


def errors(records: list[Record]) -> np.ndarray:
    """The mean end-effector error of exploration and trials, run by run, mm."""
    return np.array([[row["measures"][ERROR] for row in record["results"]] for record in records])


def _table(study: Study, records: list[Record]) -> str:
    """Median and largest error of each trial, runs within the bound, and how long a run took."""
    trials = range(study.trials + 1)
    names = ["exploration", *(f"trial {k}" for k in trials[1:])]
    lines = [
        f"| mean end-effector error [mm] | runs | {' | '.join(names)} | at most {BOUND:.0f} mm in the end | minutes |",
        "|---|---|" + "---|" * (len(names) + 2),
    ]
    for name, _, mine in groups(study, records):
        found = errors(mine)
        cells = [f"{np.median(found[:, k]):.2f} (largest {found[:, k].max():.2f})" for k in trials]
        minutes = np.median([record["seconds"] for record in mine]) / 60
        within = f"{int((found[:, -1] <= BOUND).sum())} of {len(mine)}"
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} | {within} | {minutes:.0f} |")
    lines += ["", "| run | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for name, _, mine in groups(study, records):
        for record, row in zip(mine, errors(mine), strict=True):
            lines.append(f"| {name}, seed {record['seed']} | {' | '.join(f'{error:.2f}' for error in row)} |")
    return "\n".join(lines)


def _figure(study: Study, records: list[Record], file: Path) -> None:
    """Box plots of the error in exploration and every trial; what one run drew, seen from above."""
    plt = pyplot()
    figure, (boxes, paths) = plt.subplots(1, 2, figsize=(10, 4.4), constrained_layout=True)
    shown = groups(study, records)
    width = 0.7 / len(shown)
    for i, (name, colour, mine) in enumerate(shown):
        places = np.arange(study.trials + 1) + width * (i - (len(shown) - 1) / 2)
        drawn = boxes.boxplot(
            list(errors(mine).T),
            positions=places,
            widths=0.85 * width,
            patch_artist=True,
            medianprops={"color": "black"},
            manage_ticks=False,
        )
        for box in drawn["boxes"]:
            box.set(facecolor=colour, alpha=0.5)
        boxes.plot([], [], color=colour, linewidth=6, alpha=0.5, label=f"{name} ({len(mine)} runs)")
    boxes.axhline(BOUND, color="0.5", linestyle="--", linewidth=1, label=f"{BOUND:.0f} mm")
    boxes.set_yscale("log")
    boxes.set_xticks(range(study.trials + 1), ["exploration", *map(str, range(1, study.trials + 1))])
    boxes.set_xlabel("trial")
    boxes.set_ylabel("mean end-effector error [mm]")
    boxes.legend(fontsize=8, frameon=False)
    run = shown[0][2][0]
    task = tasks.load(study.task)
    assert task.path is not None
    assert task.reference is not None
    goal = 1e3 * task.path(task.reference)
    paths.plot(goal[:, 0], goal[:, 1], color="0.6", linewidth=5, alpha=0.5, label="reference")
    for path, colour, label in zip(
        run["paths"], (COLOURS[3], COLOURS[4], COLOURS[2], COLOURS[0]), _labels(study), strict=False
    ):
        drawn = 1e3 * np.array(path)
        paths.plot(drawn[:, 0], drawn[:, 1], color=colour, linewidth=1.2, label=label)
    paths.set_aspect("equal")
    paths.set_xlabel("x [mm]")
    paths.set_ylabel("y [mm]")
    paths.set_title(f"seed {run['seed']}, seen from above", fontsize=10)
    paths.legend(fontsize=8, frameon=False)
    for axis in (boxes, paths):
        axis.spines[["top", "right"]].set_visible(False)
    save(figure, file, dpi=150)


def _labels(study: Study) -> list[str]:
    return ["exploration", *(f"trial {k}" for k in range(1, study.trials + 1))]


CIRCLE = Study(
    name="ur5",
    summary="a six-joint arm draws a circle, from joint angles alone",
    task="ur5",
    trials=3,
    configurations=(
        Configuration("default", {}),
        Configuration("paper", {"kernel": "se", "prior_mean": "zero", "noise": "white", "credit": 1.0, "steps": 1000}),
    ),
    figure=_figure,
    table=_table,
    published_runs=10,
)
