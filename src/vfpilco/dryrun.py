"""Trying a plant without moving it: does it answer, how punctual is it, how noisy are its sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vfpilco.execute import connected, execute
from vfpilco.realtime import Punctuality, RealTime
from vfpilco.task import Task

PATIENT = RealTime(missed=1e9)
"""Lateness is only looked at."""


@dataclass(frozen=True)
class DryRun:
    """What was seen of a plant that was held still."""

    task: str
    samples: int
    seconds: float
    rate: float
    """Samples per second."""
    wanted_rate: float
    punctuality: dict[str, float]
    positions: dict[str, dict[str, float]]
    """Of every position: where it started, how far it moved, how much it varies from sample to sample."""
    explores: dict[str, float]
    """How far the exploration with seed 0 would drive every input, as a share of its limit."""

    def sentences(self) -> list[str]:
        """The same for a person."""
        said = [f"{self.task}: {self.samples} samples of {1 / self.wanted_rate:.4g} s in {self.seconds:.3g} s."]
        if self.rate > 1.5 * self.wanted_rate:
            said.append("It runs faster than real time, as a simulation may: a real machine has to wait for its clock.")
        else:
            late, latest = self.punctuality["late_share"], 1e3 * self.punctuality["latest_s"]
            said.append(f"{late:.1%} of the samples came late, the latest by {latest:.3g} ms.")
        for name, seen in self.positions.items():
            said.append(
                f"{name}: starts at {seen['start']:.5g}, moved by {seen['moved']:.3g}, varies by {seen['noise']:.2g} "
                "from sample to sample."
            )
        for name, share in self.explores.items():
            said.append(f"{name}: was held at 0; the exploration will go up to {share:.0%} of its limit.")
        return [*said, "Nothing was learned and nothing was written."]


def dry_run(task: Task) -> DryRun:
    """Bring the plant to its start, hold inputs of zero for a trial, and tell what was measured."""
    task.check()
    punctuality = Punctuality(PATIENT, task.sampling_time)
    zero = np.zeros(len(task.inputs))
    with connected(task) as plant:
        trial = execute(task, plant, lambda q: zero, seed=0, punctuality=punctuality)
    seconds = punctuality.late[-1] + trial.steps * task.sampling_time
    control, explored = task.exploring(0, 0), []
    for q in trial.q[:-1]:
        explored.append(np.abs(control(q)) / task.limits)
    return DryRun(
        task=task.name,
        samples=trial.steps,
        seconds=seconds,
        rate=trial.steps / seconds,
        wanted_rate=1 / task.sampling_time,
        punctuality=punctuality.summary(),
        positions={
            p.name: {"start": float(q[0]), "moved": float(np.ptp(q)), "noise": float(np.diff(q).std() / np.sqrt(2))}
            for p, q in zip(task.positions, trial.q.T, strict=True)
        },
        explores={i.name: float(m) for i, m in zip(task.inputs, np.max(explored, axis=0, initial=0), strict=True)},
    )
