"""A picture of a run: the machine in motion, and the last trial over the particles that predicted it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.errors import UserError
from vfpilco.files import write_whole
from vfpilco.runfolder import RunFolder
from vfpilco.task import Task

MOST_PANELS = 6
"""With more positions and inputs than this, inputs are drawn beside the positions."""
REAL, PREDICTED, INPUT = "#c2410c", "#2563eb", "#0f766e"


def draw_run(task: Task, folder: RunFolder, file: Path) -> Path:
    """Draw the last policy trial of a run."""
    save(run_figure(task, folder), file, dpi=130)
    return file


def run_figure(task: Task, folder: RunFolder, trial_number: int | None = None) -> Any:
    """A policy trial, the last one if not given: drawing of the plant if the task has one, positions, inputs."""
    plt = pyplot()
    index, row = policy_row(folder, trial_number)
    trial = folder.trial(index, len(task.positions))
    predicted, _ = folder.arrays("predictions", row["trial"])
    d_q, d_u = len(task.positions), len(task.inputs)
    wide = d_q + d_u > MOST_PANELS
    panels = max(d_q, d_u) if wide else d_q + d_u
    drawing = 2.6 if task.draw is not None else 0.0
    figure = plt.figure(figsize=(13 if wide else 8, drawing + 1.9 * panels), constrained_layout=True)
    grid = figure.add_gridspec(
        panels + (task.draw is not None), 1 + wide, height_ratios=[1.5] * (task.draw is not None) + [1.0] * panels
    )
    above = 0
    if task.draw is not None:
        task.draw(figure.add_subplot(grid[0, :]), trial.q, trial.sampling_time)
        above = 1
    places = [(i, 0) for i in range(d_q)] + [(i, 1) if wide else (d_q + i, 0) for i in range(d_u)]
    axes = [figure.add_subplot(grid[above + row, column]) for row, column in places]
    t = np.arange(trial.steps + 1) * trial.sampling_time
    for i, position in enumerate(task.positions):
        band(axes[i], np.arange(len(predicted["q"])) * trial.sampling_time, predicted["q"][:, :, i])
        axes[i].plot(t, trial.q[:, i], ".", color=REAL, markersize=4, label="measured")
        axes[i].set_ylabel(f"{position.name} [{position.unit}]")
    for i, channel in enumerate(task.inputs):
        axis = axes[len(task.positions) + i]
        axis.step(t[:-1], trial.u[:, i], where="post", color=INPUT, label="applied")
        axis.set_ylabel(f"{channel.name} [{channel.unit}]")
        axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    for axis in axes:
        axis.set_xlim(0, task.horizon * task.sampling_time)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="best", fontsize=8, frameon=False)
    for axis in {axes[d_q - 1] if wide else axes[-1], axes[-1]}:
        axis.set_xlabel("time [s]")
    outcome = (
        "success" if row["success"] else f"ended after {row['ended_s']:.1f} s" if "ended_s" in row else "no success"
    )
    figure.suptitle(
        f"{task.name}, trial {row['trial']}: learned from {row['experience_s']:.3g} s of positions, "
        f"cost {row['cost']:.3g}, {outcome}",
        fontsize=11,
    )
    return figure


def policy_row(folder: RunFolder, trial: int | None = None) -> tuple[int, dict[str, Any]]:
    """Which execution a policy trial was, the last one if not given, and its row of results."""
    rows = folder.results()
    found = [(i, row) for i, row in enumerate(rows) if row["kind"] == "policy" and trial in (None, row["trial"])]
    if not found:
        asked = "a policy" if trial is None else f"policy {trial}"
        raise UserError(f"{folder.path} has no trial of {asked} yet: learn first, or name another one.")
    return found[-1]


def photograph_run(task: Task, folder: RunFolder, file: Path) -> Path:
    """The machine after the exploration and after the last trial, side by side."""
    assert task.photograph is not None
    plt = pyplot()
    rows = folder.results()
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.2), constrained_layout=True)
    for axis, i in zip(axes, (0, len(rows) - 1), strict=True):
        row = rows[i]
        axis.imshow(task.photograph(folder.trial(i, len(task.positions)).judged))
        told = [f"{m.name} {row['measures'][m.name]:.3g} {m.unit}" for m in task.measures]
        axis.set_title(", ".join(["exploration" if row["kind"] == "explore" else f"trial {row['trial']}", *told]))
        axis.axis("off")
    save(figure, file, dpi=100)
    return file


def pyplot() -> Any:
    """Matplotlib without a display."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise UserError("Pictures need matplotlib: pip install matplotlib.") from error
    return plt


def save(figure: Any, file: Path, dpi: int) -> None:
    """Write a figure as PNG or PDF, as the file's name says, and close it."""
    image = io.BytesIO()
    kind = file.suffix[1:].lower() or "png"
    # Without its date a figure is the same file every time.
    figure.savefig(image, dpi=dpi, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
    pyplot().close(figure)
    write_whole(file, image.getvalue())


def band(axis: Any, t: np.ndarray, particles: np.ndarray) -> None:
    """95 % of the particles (samples, M), and their median."""
    low, high = np.quantile(particles, [0.025, 0.975], axis=1)
    axis.fill_between(t, low, high, color=PREDICTED, alpha=0.25, linewidth=0, label="95 % of the particles")
    axis.plot(t, np.median(particles, axis=1), color=PREDICTED, linewidth=1, label="their median")
