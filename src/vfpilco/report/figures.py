"""Figures for papers, from any run: trajectories over particles, cost per trial, one-step errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.plotting import INPUT, MEASURED, PREDICTED, pyplot, save
from vfpilco.report.picture import band
from vfpilco.report.source import Source
from vfpilco.storage.store import MODEL
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
    figures = {"cost": cost_figure(source)}
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
    figure, axes = pyplot().subplots(
        len(channels), 1, figsize=(3.5, 1.25 * len(channels)), sharex=True, constrained_layout=True, squeeze=False
    )
    t = np.arange(len(trial.q)) * trial.sampling_time
    for i, (axis, channel) in enumerate(zip(axes[:, 0], channels, strict=True)):
        j = i - len(source.positions)
        if predicted is not None:
            particles = np.asarray(predicted.q[:, :, i] if j < 0 else predicted.u[:, :, j])
            band(axis, np.arange(len(particles)) * trial.sampling_time, particles)
        if j < 0:
            axis.plot(t, trial.q[:, i], color=MEASURED, linewidth=1, label="measured")
        else:
            axis.step(t[:-1], trial.u[:, j], where="post", color=INPUT, linewidth=1, label="applied")
        _label(axis, None, f"{channel.name} [{channel.unit}]")
    axes[0, 0].legend(fontsize=6, frameon=False)
    axes[-1, 0].set_xlabel("time [s]", fontsize=7)
    return figure


def cost_figure(source: Source) -> Any:
    """The real cost of every trial beside its predicted band."""
    figure, axis = pyplot().subplots(figsize=(3.5, 2.4), constrained_layout=True)
    compared = [(result, result.predicted_cost) for result in source.results if result.predicted_cost is not None]
    trial = np.array([result.trial for result, _ in compared])
    low, mean, high = np.array([(cost.low, cost.mean, cost.high) for _, cost in compared]).reshape(-1, 3).T
    axis.errorbar(
        trial - 0.06, mean, [np.maximum(mean - low, 0), np.maximum(high - mean, 0)],
        fmt="_", color=PREDICTED, capsize=2, linewidth=1, label="predicted: mean, 95 %",
    )  # fmt: skip
    axis.plot(trial + 0.06, [result.cost for result, _ in compared], "o", color=MEASURED, markersize=4, label="real")
    axis.set_xticks(trial)
    axis.legend(fontsize=6, frameon=False)
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
        found[result.trial] = one_step_errors(model, dynamics_of(source.settings, source.machine), source.trial(i))
    return found


def error_figure(source: Source, errors: dict[int, np.ndarray]) -> Any:
    """Box plots of the absolute one-step errors on every trial, by the model that had not seen it."""
    shown = source.modelled
    figure, axes = pyplot().subplots(
        1, len(shown), figsize=(max(3.5, 1.8 * len(shown)), 2.4), constrained_layout=True, squeeze=False
    )
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


def _label(axis: Any, x: str | None, y: str) -> None:
    """Name the axes, in small letters and without a frame."""
    if x is not None:
        axis.set_xlabel(x, fontsize=7)
    axis.set_ylabel(y, fontsize=7)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=6)
