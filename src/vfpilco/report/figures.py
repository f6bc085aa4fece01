"""The paper's figure types from any run: trajectories over particles, cost per trial, one-step errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.errors import UserError
from vfpilco.picture import INPUT, PREDICTED, REAL, band, pyplot, save
from vfpilco.report.source import Source
from vfpilco.settings import Settings


def write_figures(source: Source, folder: Path, kind: str) -> list[Path]:
    """Write the figures that the run has data for, as files of that `kind` (pdf or png)."""
    policies = [(i, row) for i, row in enumerate(source.rows) if row["kind"] == "policy"]
    if not policies:
        raise UserError(f"{source.folder.path} has no trial of a policy yet: learn first.")
    wanted = {"cost": costs(source)}
    for i, row in policies:
        wanted[f"trial-{row['trial']}"] = trajectory(source, i)
    if source.task is not None:
        wanted["one-step-errors"] = errors(source, policies)
    written = []
    for name, figure in wanted.items():
        written.append(folder / f"{name}.{kind}")
        save(figure, written[-1], dpi=200)
    return written


def trajectory(source: Source, index: int) -> Any:
    """Positions and inputs of an execution over the particles that predicted it."""
    trial, predicted = source.trial(index), source.predicted(source.rows[index])
    channels = [*source.positions, *source.inputs]
    figure, axes = pyplot().subplots(
        len(channels), 1, figsize=(3.5, 1.25 * len(channels)), sharex=True, constrained_layout=True, squeeze=False
    )
    t = np.arange(len(trial.q)) * trial.sampling_time
    for i, (axis, channel) in enumerate(zip(axes[:, 0], channels, strict=True)):
        j = i - len(source.positions)
        if predicted is not None:
            particles = predicted["q"][:, :, i] if j < 0 else predicted["u"][:, :, j]
            band(axis, np.arange(len(particles)) * trial.sampling_time, particles)
        if j < 0:
            axis.plot(t, trial.q[:, i], color=REAL, linewidth=1, label="measured")
        else:
            axis.step(t[:-1], trial.u[:, j], where="post", color=INPUT, linewidth=1, label="applied")
        axis.set_ylabel(f"{channel.name} [{channel.unit}]", fontsize=7)
        _plain(axis)
    axes[0, 0].legend(fontsize=6, frameon=False)
    axes[-1, 0].set_xlabel("time [s]", fontsize=7)
    return figure


def costs(source: Source) -> Any:
    """The real cost of every trial beside the band that was predicted."""
    figure, axis = pyplot().subplots(figsize=(3.5, 2.4), constrained_layout=True)
    rows = [row for row in source.rows if "predicted_cost" in row]
    trial = np.array([row["trial"] for row in rows])
    low, mean, high = (np.array([row["predicted_cost"][name] for row in rows]) for name in ("low", "mean", "high"))
    axis.errorbar(
        trial - 0.06, mean, [np.maximum(mean - low, 0), np.maximum(high - mean, 0)],
        fmt="_", color=PREDICTED, capsize=2, linewidth=1, label="predicted: mean, 95 %",
    )  # fmt: skip
    axis.plot(trial + 0.06, [row["cost"] for row in rows], "o", color=REAL, markersize=4, label="real")
    axis.set_xticks(trial)
    axis.set_xlabel("trial", fontsize=7)
    axis.set_ylabel("cost, summed over a trial", fontsize=7)
    axis.legend(fontsize=6, frameon=False)
    _plain(axis)
    return figure


def errors(source: Source, policies: list[tuple[int, dict[str, Any]]]) -> Any:
    """Box plots of the absolute one-step errors on every trial, by the model that had not seen it."""
    from vfpilco import diagnostics
    from vfpilco.gp import Model
    from vfpilco.methods import represent

    assert source.task is not None
    representation = represent(source.task, Settings.recorded(source.header["settings"]))
    found = []
    for i, row in policies:
        model = Model.from_arrays(*source.folder.arrays("models", row["trial"]))
        found.append(np.abs(diagnostics.one_step_errors(model, representation, source.trial(i))))
    shown = source.modelled
    figure, axes = pyplot().subplots(
        1, len(shown), figsize=(max(3.5, 1.8 * len(shown)), 2.4), constrained_layout=True, squeeze=False
    )
    for axis, i in zip(axes[0], shown, strict=True):
        boxes = axis.boxplot(
            [e[:, i] for e in found], patch_artist=True, flierprops={"markersize": 1.5}, medianprops={"color": "black"}
        )
        for box in boxes["boxes"]:
            box.set(facecolor=PREDICTED, alpha=0.5)
        axis.set_xticks(range(1, len(found) + 1), [str(row["trial"]) for _, row in policies])
        axis.set_xlabel("trial", fontsize=7)
        axis.set_ylabel(f"|error of {source.positions[i].name}| [{source.positions[i].unit}]", fontsize=7)
        _plain(axis)
    return figure


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=6)
