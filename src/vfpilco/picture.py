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

REAL, PREDICTED, INPUT = "#c2410c", "#2563eb", "#0f766e"


def draw_run(task: Task, folder: RunFolder, file: Path) -> Path:
    """Draw the last policy trial of a run: drawing of the plant if the task has one, positions, inputs."""
    plt = pyplot()
    rows = folder.results()
    if not rows or rows[-1]["kind"] != "policy":
        raise UserError(f"{folder.path} has no trial of a policy yet: learn first.")
    row = rows[-1]
    trial = folder.trial(len(rows) - 1, len(task.positions))
    predicted, _ = folder.arrays("predictions", row["trial"])
    panels = len(task.positions) + len(task.inputs)
    drawing = 1 if task.draw is not None else 0
    figure, axes = plt.subplots(
        panels + drawing,
        1,
        figsize=(8, 2.6 * drawing + 1.9 * panels),
        constrained_layout=True,
        squeeze=False,
        gridspec_kw={"height_ratios": [1.5] * drawing + [1.0] * panels},
    )
    axes = list(axes[:, 0])
    if task.draw is not None:
        task.draw(axes.pop(0), trial.q, trial.sampling_time)
    t = np.arange(trial.steps + 1) * trial.sampling_time
    for i, position in enumerate(task.positions):
        _band(axes[i], t, predicted["q"][:, :, i])
        axes[i].plot(t, trial.q[:, i], ".", color=REAL, markersize=4, label="measured")
        axes[i].set_ylabel(f"{position.name} [{position.unit}]")
    for i, channel in enumerate(task.inputs):
        axis = axes[len(task.positions) + i]
        axis.step(t[:-1], trial.u[:, i], where="post", color=INPUT, label="applied")
        axis.set_ylabel(f"{channel.name} [{channel.unit}]")
        axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    for axis in axes:
        axis.set_xlim(t[0], t[-1])
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="best", fontsize=8, frameon=False)
    axes[-1].set_xlabel("time [s]")
    outcome = "success" if row["success"] else "no success"
    figure.suptitle(
        f"{task.name}, trial {row['trial']}: learned from {row['experience_s']:.0f} s of positions, "
        f"cost {row['cost']:.1f}, {outcome}",
        fontsize=11,
    )
    save(figure, file, dpi=130)
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
    """Write a figure as PNG and close it."""
    image = io.BytesIO()
    figure.savefig(image, dpi=dpi, format="png")
    pyplot().close(figure)
    write_whole(file, image.getvalue())


def _band(axis: Any, t: np.ndarray, particles: np.ndarray) -> None:
    low, high = np.quantile(particles, [0.025, 0.975], axis=1)
    axis.fill_between(t, low, high, color=PREDICTED, alpha=0.25, linewidth=0, label="95 % of the particles")
    axis.plot(t, np.median(particles, axis=1), color=PREDICTED, linewidth=1, label="their median")
