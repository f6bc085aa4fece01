"""The paper's first rig (Sec. VI-A), a Furuta pendulum, as a simulated plant with the faults of a physical one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.common.plotting import new_figure, save
from vfpilco.machines.furuta.task import ENCODERS, JITTER, SAMPLING_TIME
from vfpilco.model.kernels import SE, Poly
from vfpilco.model.noise import WhiteNoise
from vfpilco.policy.rbf import RBF
from vfpilco.state.filtered import Filtered
from vfpilco.state.window import VelocityFree
from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.figures import DPI, draw_costs, open_frame
from vfpilco.studies.groups import COLOURS, groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.statistics import success_table
from vfpilco.tasks.sensors import TimingJitter

ANGLES = ("arm", "pendulum")
PINNED = {
    "state": VelocityFree(2, 1),
    "kernel": SE() * Poly(1, on=("rates", "inputs")),
    "policy": RBF(200),
    "particles": 400,
    "steps": 1000,
    "tolerance": 0.002,
    "gradient_decay": 0.8,  # upright the pole's angle grows 1.5 times a sample, as would gradients on their way back
    "clip": 3.0,
    "input_change_penalty": 0.0,
    "inducing": 128,
    "sensor": TimingJitter(ENCODERS, JITTER / SAMPLING_TIME),
}
"""The settings of the published table, whatever the defaults are now; "default" is the row without any change."""


def _figure(study: Study, records: list[RunRecord], file: Path) -> None:
    """The last trial of one run over the particles that predicted it; costs and successes of all runs."""
    figure = new_figure(13, 6.5)
    left, right = figure.subfigures(1, 2)
    group = groups(study, records)[0]
    run = group.records[0]
    _draw_prediction(run, left.subplots(2, 1, sharex=True))
    left.suptitle(f"{group.name}, seed {run.seed}: trial {study.trials}", fontsize=10)
    draw_costs(study, records, *right.subplots(2, 1, sharex=True))
    save(figure, file, dpi=DPI)


def _draw_prediction(run: RunRecord, axes: Any) -> None:
    real, particles = np.array(run.executed), np.array(run.particles)
    t = SAMPLING_TIME * np.arange(len(particles))
    for i, (axis, name) in enumerate(zip(axes, ANGLES, strict=True)):
        axis.plot(t, particles[..., i], color=COLOURS[0], alpha=0.25, linewidth=1)
        axis.plot([], [], color=COLOURS[0], alpha=0.5, label="predicted: particles")
        axis.plot(t[: len(real)], real[:, i], ".", color="black", markersize=5, label="real")
        axis.set_ylabel(f"{name} [rad]")
    legend_above(axes[0])
    open_frame(*axes)
    axes[-1].set_xlabel("time [s]")


SWING_UP = Study(
    name="furuta",
    summary="swing-up of a Furuta pendulum from two encoders, with friction, latency and jitter",
    task="furuta",
    trials=6,
    configurations=(
        Configuration("default", PINNED),
        Configuration("pms", {**PINNED, "state": Filtered(), "kernel": SE(), "noise": WhiteNoise()}),
    ),
    figure=_figure,
    table=success_table,
    published_runs=10,
    particles=20,
)

DEFAULT = replace(
    SWING_UP,
    name="furuta-default",
    summary="swing-up of the Furuta pendulum with the default settings: everything is chosen from the data",
    configurations=(Configuration("default", {}),),
)
