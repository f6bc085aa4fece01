"""The paper's two rigs (Sec. VI), as simulated plants with the faults of real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vfpilco.picture import pyplot, save
from vfpilco.plants.ballplate import BallPlate
from vfpilco.studies import figures
from vfpilco.studies.base import Configuration, Record, Study
from vfpilco.studies.figures import COLOURS, groups
from vfpilco.studies.statistics import success_table
from vfpilco.tasks.ballplate import SAMPLING_TIME

DISTANCE = "final distance"
PUBLISHED = 13.4
"""The paper's mean final distance over ten starts, mm."""

ANGLES = ("arm", "pendulum")


def _furuta_figure(study: Study, records: list[Record], file: Path) -> None:
    """The last trial of one run over the particles that predicted it; costs and successes of all runs."""
    plt = pyplot()
    figure = plt.figure(figsize=(13, 6.5), constrained_layout=True)
    left, right = figure.subfigures(1, 2)
    shown = groups(study, records)
    run = shown[0][2][0]
    real, particles = np.array(run["executed"]), np.array(run["particles"])
    t = SAMPLING_TIME * np.arange(len(particles))
    axes = left.subplots(2, 1, sharex=True)
    for i, (axis, name) in enumerate(zip(axes, ANGLES, strict=True)):
        axis.plot(t, particles[..., i], color=COLOURS[0], alpha=0.25, linewidth=1)
        axis.plot([], [], color=COLOURS[0], alpha=0.5, label="predicted: particles")
        axis.plot(t[: len(real)], real[:, i], ".", color="black", markersize=5, label="real")
        axis.set_ylabel(f"{name} [rad]")
        axis.legend(fontsize=8, frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("time [s]")
    left.suptitle(f"{shown[0][0]}, seed {run['seed']}: trial {study.trials}", fontsize=10)
    figures.draw_costs(study, records, *right.subplots(2, 1, sharex=True))
    save(figure, file, dpi=150)


FURUTA = Study(
    name="furuta",
    summary="swing-up of a Furuta pendulum from two encoders, with friction, latency and jitter",
    task="furuta",
    trials=6,
    configurations=(
        Configuration("default", {}),
        Configuration("pms", {"method": "pms", "kernel": "se", "noise": "white"}),
    ),
    figure=_furuta_figure,
    table=success_table,
    published_runs=10,
    particles=20,
)


def distances(records: list[Record]) -> np.ndarray:
    """The mean final distance over the test starts, (runs, trials), mm."""
    return np.array([[np.mean(tests["measures"][DISTANCE]) for tests in record["tests"]] for record in records])


def _ball_table(study: Study, records: list[Record]) -> str:
    """Mean final distances of every trial's policy, run by run, and the experience they were learned from."""
    trials = [f"trial {k}" for k in range(1, study.trials + 1)]
    lines = [
        f"| mean final distance over ten starts [mm] | runs | {' | '.join(trials)} "
        f"| at most {PUBLISHED} mm in the end | experience [s] |",
        "|---|---|" + "---|" * (study.trials + 2),
    ]
    for name, _, mine in groups(study, records):
        found = distances(mine)
        cells = [f"{np.median(column):.1f} (largest {column.max():.1f})" for column in found.T]
        within = f"{int((found[:, -1] <= PUBLISHED).sum())} of {len(mine)}"
        experience = np.mean([record["results"][-1]["experience_s"] for record in mine])
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} | {within} | {experience:.1f} |")
    lines += ["", f"| run | {' | '.join(trials)} | experience [s] |", "|---|" + "---|" * (study.trials + 1)]
    for name, _, mine in groups(study, records):
        for record, row in zip(mine, distances(mine), strict=True):
            cells = " | ".join(f"{distance:.1f}" for distance in row)
            experience = record["results"][-1]["experience_s"]
            lines.append(f"| {name}, seed {record['seed']} | {cells} | {experience:.1f} |")
    return "\n".join(lines)


def _ball_figure(study: Study, records: list[Record], file: Path) -> None:
    """Ten paths of one run's policy with their final points, the GP targets of its trial, and all runs' distances."""
    plt = pyplot()
    figure, (paths, targets, means) = plt.subplots(1, 3, figsize=(14, 4.6), constrained_layout=True)
    shown = groups(study, records)
    run = shown[0][2][0]
    for path in run["test_paths"]:
        drawn = 1e3 * np.array(path)[:, :2]
        paths.plot(*drawn.T, linewidth=1)
        paths.plot(*drawn[-1], "x", color="black", markersize=5)
    outline = plt.Circle((0, 0), 1e3 * BallPlate.radius, fill=False, linestyle="--", color="0.3")
    paths.add_patch(outline)
    border = 1e3 * BallPlate.border
    paths.set_xlim(-border, border)
    paths.set_ylim(-border, border)
    paths.set_aspect("equal")
    paths.set_xlabel("x [mm]")
    paths.set_ylabel("y [mm]")
    paths.set_title(f"seed {run['seed']}: ten starts, final points, the ball's outline", fontsize=10)
    change = 1e3 * np.diff(np.array(run["last_trial"])[:, :2], axis=0)
    t = SAMPLING_TIME * np.arange(1, len(change) + 1)
    for column, name, colour in zip(change.T, "xy", COLOURS, strict=False):
        targets.step(t, column, where="mid", color=colour, linewidth=1, label=f"Δ{name}")
    targets.set_xlabel("time [s]")
    targets.set_ylabel("measured change in a sample [mm]")
    targets.set_title(f"seed {run['seed']}: GP targets of trial {study.trials}", fontsize=10)
    targets.legend(fontsize=8, frameon=False)
    trial = np.arange(1, study.trials + 1)
    for i, (name, colour, mine) in enumerate(shown):
        for j, row in enumerate(distances(mine)):
            label = f"{name} ({len(mine)} runs)" if j == 0 else None
            means.plot(trial + 0.1 * i, row, "o-", color=colour, alpha=0.6, linewidth=0.8, markersize=4, label=label)
    means.axhline(PUBLISHED, color="0.5", linestyle="--", linewidth=1, label=f"published, {PUBLISHED} mm")
    means.set_yscale("log")
    means.set_xticks(trial)
    means.set_xlabel("trial")
    means.set_ylabel("mean final distance over ten starts [mm]")
    means.legend(fontsize=8, framealpha=1, edgecolor="none")
    for axis in (paths, targets, means):
        axis.spines[["top", "right"]].set_visible(False)
    save(figure, file, dpi=150)


BALL = Study(
    name="ballplate",
    summary="a ball brought to the middle of a plate from anywhere, by a camera of one millimetre",
    task="ballplate",
    trials=2,
    configurations=(
        Configuration("default", {}),
        Configuration("white-noise", {"noise": "white"}),
        Configuration("linear", {"kernel": "linear(angles)", "noise": "white"}),
        Configuration(
            "pms",
            {
                "method": "pms",
                "online": "kalman",
                "offline": "kalman",
                "acceleration": 1.0,
                "kernel": "linear(angles)",
                "noise": "white",
            },
        ),
    ),
    figure=_ball_figure,
    table=_ball_table,
    published_runs=10,
)
