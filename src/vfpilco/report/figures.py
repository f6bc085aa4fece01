"""Figures for papers, from any run: trajectories over particles, cost per trial, one-step errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.axes import draw_across, legend_above
from vfpilco.common.errors import UserError
from vfpilco.common.plotting import INPUT, MEASURED, PREDICTED, new_figure, save
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.report.axes import band, draw_goals, draw_limits
from vfpilco.report.policy import policy_map
from vfpilco.report.source import Source
from vfpilco.storage.store import MODEL
from vfpilco.tasks.machine import Input, Position
from vfpilco.trials.plan import dynamics_of


def write_figures(source: Source, folder: Path, kind: str) -> list[Path]:
    """Write the figures that the run has data for.

    Args:
        source: The run.
        folder: Where to write them.
        kind: Their file format, `pdf` or `png`.

    Returns:
        The files that were written.

    Raises:
        UserError: If no policy was executed yet, or if Matplotlib is not installed.
    """
    if not source.policies:
        raise UserError(f"{source.folder.path} has no trial of a policy yet: learn first.")
    figures = {"cost": cost_figure(source.results)}
    for i, result in source.policies:
        figures[f"trial-{result.trial}"] = trajectory_figure(source, i)
    errors = one_step_errors_of(source)
    if errors:
        figures["one-step-errors"] = error_figure(source, errors)
    written = []
    for name, figure in figures.items():
        written.append(folder / f"{name}.{kind}")
        save(figure, written[-1], dpi=200)
    return written


def trajectory_figure(source: Source, index: int) -> Any:
    """Positions and inputs of an execution over the particles that predicted it."""
    trial, predicted = source.trial(index), source.predicted(source.results[index])
    channels = [*source.positions, *source.inputs]
    figure = new_figure(3.5, 1.35 * len(channels))
    axes = figure.subplots(len(channels), 1, sharex=True, squeeze=False)
    t = np.arange(len(trial.q)) * trial.sampling_time
    for i, (axis, channel) in enumerate(zip(axes[:, 0], channels, strict=True)):
        j = i - len(source.positions)
        if predicted is not None:
            particles = np.asarray(predicted.q[:, :, i] if j < 0 else predicted.u[:, :, j])
            band(axis, np.arange(len(particles)) * trial.sampling_time, particles)
        if isinstance(channel, Position):
            axis.plot(t, trial.q[:, i], color=MEASURED, linewidth=1, label="measured")
            draw_goals(axis, channel, source.target(i), trial.sampling_time)
        else:
            axis.step(t[:-1], trial.u[:, j], where="post", color=INPUT, linewidth=1, label="applied")
            draw_limits(axis, channel)
        _label(axis, None, f"{channel.name} [{channel.unit}]")
    legend_above(axes[0, 0], size=5)
    axes[-1, 0].set_xlabel("time [s]", fontsize=7)
    return figure


def cost_figure(results: Sequence[TrialResult]) -> Any:
    """The real cost of every trial beside its predicted band; successes are filled."""
    figure = new_figure(3.8, 2.6)
    axis = figure.subplots()
    compared = [(result, result.predicted_cost) for result in results if result.predicted_cost is not None]
    trial = np.array([result.trial for result, _ in compared])
    low, mean, high = np.array([(cost.low, cost.mean, cost.high) for _, cost in compared]).reshape(-1, 3).T
    axis.errorbar(
        trial - 0.06, mean, [np.maximum(mean - low, 0), np.maximum(high - mean, 0)],
        fmt="_", color=PREDICTED, capsize=2, linewidth=1, label="predicted: mean, 95 %",
    )  # fmt: skip
    for success, label in ((False, "real"), (True, "real, success")):
        shown = [(result.trial, result.cost) for result, _ in compared if result.success == success]
        if shown:
            x, y = np.array(shown, dtype=float).T
            axis.plot(
                x + 0.06, y, "o", color=MEASURED, markersize=4, label=label, fillstyle="full" if success else "none"
            )
    axis.set_xticks(trial)
    legend_above(axis, size=6)
    _label(axis, "trial", "cost, summed over a trial")
    return figure


def one_step_errors_of(source: Source) -> dict[int, np.ndarray]:
    """The errors of the model on every trial, which it had not seen; empty if only the task's file can tell them."""
    from vfpilco.model.diagnostics import one_step_errors

    found = {}
    for i, result in source.policies:
        assert result.trial is not None
        model, _ = source.folder.artifact(MODEL, result.trial)
        if source.settings is None or ("features" in model.kinds and source.machine.features is None):
            return {}
        dynamics = dynamics_of(source.settings, source.machine, source.folder.policy(result.trial).state)
        found[result.trial] = one_step_errors(model, dynamics, source.trial(i))
    return found


def error_figure(source: Source, errors: dict[int, np.ndarray]) -> Any:
    """Box plots of the absolute one-step errors on every trial, by the model that had not seen it."""
    shown = source.modelled
    figure = new_figure(max(3.5, 1.8 * len(shown)), 2.4)
    axes = figure.subplots(1, len(shown), squeeze=False)
    for axis, i in zip(axes[0], shown, strict=True):
        boxes = axis.boxplot(
            [np.abs(e[:, i]) for e in errors.values()],
            patch_artist=True,
            flierprops={"markersize": 1.5},
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set(facecolor=PREDICTED, alpha=0.5)
        axis.set_xticks(range(1, len(errors) + 1), [str(trial) for trial in errors])
        _label(axis, "trial", f"|error of {source.positions[i].name}| [{source.positions[i].unit}]")
    return figure


def policy_figure(
    policy: LearnedPolicy,
    trial: Trial,
    positions: Sequence[Position],
    inputs: Sequence[Input],
    targets: np.ndarray | None = None,
) -> Any:
    """The inputs of a policy over every position and its speed, around the end of a trial, with its path.

    Args:
        policy: The policy.
        trial: The trial.
        positions: The positions of the machine.
        inputs: Its inputs; their limits are the ends of the colours.
        targets: Where the positions should be at every sample; NaN where any value is good.
    """
    goals = np.full(len(positions), np.nan) if targets is None else targets[: len(trial.q)][-1]
    maps = [policy_map(policy, trial, i) for i in range(len(positions))]
    figure = new_figure(3.4 * len(positions) + 0.6, 2.7 * len(inputs))
    axes = figure.subplots(len(inputs), len(positions), squeeze=False)
    image: Any = None
    for j, channel in enumerate(inputs):
        for axis, position, drawn, goal in zip(axes[j], positions, maps, goals, strict=True):
            image = axis.pcolormesh(
                drawn.x, drawn.y, drawn.u[j], cmap="RdBu_r", vmin=-channel.limit, vmax=channel.limit, shading="auto"
            )
            axis.plot(*drawn.path, color="0.2", linewidth=0.8)
            axis.plot(*drawn.path[:, -1], "o", color="0.2", markersize=3)
            draw_across(axis, goal, position.safe, position.angle)
            if j == 0:
                legend_above(axis, size=6)
            _label(axis, f"{position.name} [{position.unit}]", f"its speed [{position.unit}/s]")
        figure.colorbar(image, ax=axes[j, -1]).set_label(f"{channel.name} [{channel.unit}]", fontsize=7)
    figure.suptitle("input over position and speed; the line is the trial", fontsize=8)
    return figure


def model_figure(model: Model, dynamics: Dynamics, trial: Trial, positions: Sequence[Position]) -> Any:
    """What the model did not predict of a trial, one sample ahead, and how far off it expected to be."""
    data = dynamics.training_set(trial)
    mean, variance = model.predict(data.x)
    errors, std = data.y - data.prior - mean, np.sqrt(variance + model.noise**2)
    modelled = [position for position in positions if position.commanded is None]
    figure = new_figure(6, 1.7 * len(modelled))
    axes = figure.subplots(len(modelled), 1, sharex=True, squeeze=False)
    t = np.arange(len(errors)) * trial.sampling_time
    for i, (axis, position) in enumerate(zip(axes[:, 0], modelled, strict=True)):
        axis.fill_between(
            t, -2 * std[:, i], 2 * std[:, i], color=PREDICTED, alpha=0.25, linewidth=0, label="expected: ±2 std"
        )
        axis.plot(t, errors[:, i], ".", color=MEASURED, markersize=4, label="error one sample ahead")
        _label(axis, None, f"{position.name} [{position.unit}]")
    legend_above(axes[0, 0], size=7)
    axes[-1, 0].set_xlabel("time [s]", fontsize=7)
    return figure


def _label(axis: Any, x: str | None, y: str) -> None:
    """Name the axes, in small letters and without a frame."""
    if x is not None:
        axis.set_xlabel(x, fontsize=7)
    axis.set_ylabel(y, fontsize=7)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=6)
