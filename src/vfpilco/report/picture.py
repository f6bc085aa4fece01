"""A picture of a run: the machine in motion, and the last trial over the particles that predicted it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.common.errors import UserError
from vfpilco.common.plotting import INPUT, MEASURED, new_figure, save
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.report.axes import band, draw_goals, draw_limits
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import PREDICTION
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.task import Task

MOST_PANELS = 6
"""With more positions and inputs than this, inputs are drawn beside the positions."""


def draw_run(task: Task, folder: RunFolder, file: Path) -> Path:
    """Draw the last trial of a policy.

    Args:
        task: The task of the run.
        folder: The run.
        file: The file to write, PNG or PDF.

    Returns:
        That file.

    Raises:
        UserError: If no policy was executed yet, or if Matplotlib is not installed.
    """
    save(run_figure(task, folder), file, dpi=130)
    return file


def run_figure(task: Task, folder: RunFolder, trial_number: int | None = None) -> Any:
    """A trial of a policy, the last one if not given: the machine if the task draws it, positions, inputs."""
    index, result = policy_row(folder, trial_number)
    assert result.trial is not None
    trial = folder.trial(index, len(task.machine.positions))
    return trial_figure(task, trial, result, folder.artifact(PREDICTION, result.trial)[0])


def trial_figure(task: Task, trial: Trial, result: TrialResult, predicted: Rollout | None) -> Any:
    """An execution: the machine if the task draws it, positions and inputs over what was predicted of them."""
    machine = task.machine
    panels = _panels(machine)
    if panels.drawing is not None and machine.drawing.figure is not None:
        machine.drawing.figure(panels.drawing, trial.q, trial.sampling_time)
    _draw_positions(panels.positions, task, trial, predicted)
    _draw_inputs(panels.inputs, machine, trial)
    for axis in (*panels.positions, *panels.inputs):
        axis.set_xlim(0, task.horizon * machine.sampling_time)
        axis.spines[["top", "right"]].set_visible(False)
        legend_above(axis)
    for axis in panels.lowest:
        axis.set_xlabel("time [s]")
    panels.figure.suptitle(_title(task, result), fontsize=11)
    return panels.figure


def _title(task: Task, result: TrialResult) -> str:
    if result.trial is None:
        return f"{task.name}, exploration: cost {result.cost:.3g}"
    return (
        f"{task.name}, trial {result.trial}: learned from {result.experience_s:.3g} s of positions, "
        f"cost {result.cost:.3g}, {_outcome(result)}"
    )


@dataclass(frozen=True)
class Panels:
    """The axes of a figure."""

    figure: Any
    drawing: Any
    """For the machine; None if the task does not draw it."""
    positions: list[Any]
    inputs: list[Any]
    lowest: list[Any]
    """The lowest axis of every column."""


def _panels(machine: Machine) -> Panels:
    """One axis for the drawing, and one for every position and input; in two columns if there are many."""
    d_q, d_u = len(machine.positions), len(machine.inputs)
    drawn = int(machine.drawing.figure is not None)
    wide = d_q + d_u > MOST_PANELS
    rows = max(d_q, d_u) if wide else d_q + d_u
    figure = new_figure(13 if wide else 8, 2.6 * drawn + 1.9 * rows)
    grid = figure.add_gridspec(drawn + rows, 1 + wide, height_ratios=[1.5] * drawn + [1.0] * rows)
    drawing = figure.add_subplot(grid[0, :]) if drawn else None
    positions = [figure.add_subplot(grid[drawn + i, 0]) for i in range(d_q)]
    inputs = [figure.add_subplot(grid[drawn + i, 1] if wide else grid[drawn + d_q + i, 0]) for i in range(d_u)]
    return Panels(figure, drawing, positions, inputs, [positions[-1], inputs[-1]] if wide else [inputs[-1]])


def _draw_positions(axes: list[Any], task: Task, trial: Trial, predicted: Rollout | None) -> None:
    t = np.arange(trial.steps + 1) * trial.sampling_time
    for i, (axis, position) in enumerate(zip(axes, task.machine.positions, strict=True)):
        if predicted is not None:
            particles = np.asarray(predicted.q)[:, :, i]
            band(axis, np.arange(len(particles)) * trial.sampling_time, particles)
        axis.plot(t, trial.q[:, i], ".", color=MEASURED, markersize=4, label="measured")
        axis.set_ylabel(f"{position.name} [{position.unit}]")
        draw_goals(axis, position, None if task.targets is None else task.targets[:, i], trial.sampling_time)


def _draw_inputs(axes: list[Any], machine: Machine, trial: Trial) -> None:
    t = np.arange(trial.steps) * trial.sampling_time
    for i, (axis, channel) in enumerate(zip(axes, machine.inputs, strict=True)):
        axis.step(t, trial.u[:, i], where="post", color=INPUT, label="applied")
        axis.set_ylabel(f"{channel.name} [{channel.unit}]")
        axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        draw_limits(axis, channel)


def _outcome(result: TrialResult) -> str:
    if result.success:
        return "success"
    return "no success" if result.ended_s is None else f"ended after {result.ended_s:.1f} s"


def policy_row(folder: RunFolder, trial: int | None = None) -> tuple[int, TrialResult]:
    """The index of the execution of a policy, the last one if not given, and its result.

    Raises:
        UserError: If that policy was not executed.
    """
    found = [
        (i, result)
        for i, result in enumerate(folder.results())
        if result.kind == "policy" and trial in (None, result.trial)
    ]
    if not found:
        wanted = "a policy" if trial is None else f"policy {trial}"
        raise UserError(f"{folder.path} has no trial of {wanted} yet: learn first, or name another one.")
    return found[-1]


def photograph_run(task: Task, folder: RunFolder, file: Path) -> Path:
    """Draw the machine after the exploration and after the last trial, side by side; the task must photograph it."""
    photograph = task.machine.drawing.photograph
    assert photograph is not None
    results = folder.results()
    figure = new_figure(13, 5.2)
    axes = figure.subplots(1, 2)
    for axis, i in zip(axes, (0, len(results) - 1), strict=True):
        result = results[i]
        axis.imshow(photograph(folder.trial(i, len(task.machine.positions)).evaluated))
        measures = [f"{m.name} {result.measures[m.name]:.3g} {m.unit}" for m in task.measures]
        axis.set_title(", ".join(["exploration" if result.trial is None else f"trial {result.trial}", *measures]))
        axis.axis("off")
    save(figure, file, dpi=100)
    return file
