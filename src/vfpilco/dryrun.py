"""Trying a plant without driving it: does it answer, how punctual is it, how noisy are its sensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vfpilco.execute import connected, execute
from vfpilco.limits import slew_of
from vfpilco.realtime import Punctuality, RealTime
from vfpilco.settings import Settings
from vfpilco.task import Task
from vfpilco.watch import Watcher

PATIENT = RealTime(missed=1e9)
"""Lateness is only looked at."""


@dataclass(frozen=True)
class DryRun:
    """What was seen of a plant that was held still."""

    task: str
    samples: int
    wanted_samples: int
    ended: str | None
    """Why it ended before its time."""
    seconds: float
    rate: float
    """Samples per second."""
    wanted_rate: float
    realtime: bool
    """Whether the task says that samples come in real time."""
    punctuality: dict[str, float]
    positions: dict[str, dict[str, float]]
    """Of every position: where it started, how far it moved, how much it varies from sample to sample."""
    units: dict[str, str]
    explores: dict[str, float]
    """How far the exploration would drive every input, as a share of its limit."""
    strange: str | None = None
    """Where it started, if that is not where the task says."""
    problems: tuple[str, ...] = ()
    """What should be mended before learning."""

    def judged(self) -> DryRun:
        """The same with its problems."""
        found = []
        if self.samples < self.wanted_samples:
            why = f": {self.ended}" if self.ended else ""
            found.append(f"It ended after {self.samples} of {self.wanted_samples} samples{why}.")
        rates = f"{self.rate:.4g} samples a second where the task has {self.wanted_rate:.4g}"
        if self.realtime and self.rate > 1.1 * self.wanted_rate:
            found.append(f"It is too fast, {rates}: let step() wait, e.g. with vfpilco.Clock, or mend sampling_time.")
        if self.realtime and self.rate < 0.98 * self.wanted_rate:
            found.append(f"It is too slow, {rates}: make the driver faster, or mend sampling_time.")
        if self.strange:
            found.append(f"It started with {self.strange}: mend the task's start, or the machine's reset.")
        return replace(self, problems=tuple(found))

    def sentences(self) -> list[str]:
        """The same for a person."""
        said = [f"{self.task}: {self.samples} samples of {1e3 / self.wanted_rate:.4g} ms in {self.seconds:.3g} s."]
        if not self.realtime and self.rate > 1.1 * self.wanted_rate:
            said.append(
                "It runs faster than real time, as a simulation may. For a real machine give the task RealTime."
            )
        else:
            late, latest = self.punctuality["late_share"], 1e3 * self.punctuality["latest_s"]
            said.append(f"{late:.1%} of the samples came late, the latest by {max(latest, 0):.1f} ms.")
        for name, seen in self.positions.items():
            unit = self.units[name]
            said.append(
                f"{name}: starts at {seen['start']:.5g} {unit}, moved by {seen['moved']:.3g} {unit}, varies by "
                f"{seen['noise']:.2g} {unit} from sample to sample."
            )
        for name, share in self.explores.items():
            said.append(f"{name}: was held at 0; the exploration will go up to {share:.0%} of its limit.")
        if all(seen["moved"] == 0 for seen in self.positions.values()):
            said.append(
                "No position changed at all, as of encoders at rest: turn the machine by hand to see that it measures."
            )
        verdict = [] if self.problems else ["It answers as it should."]
        return [*said, *verdict, "Nothing was learned and nothing was written."]


def dry_run(task: Task, settings: Settings | None = None, seed: int = 0, watch: Watcher | None = None) -> DryRun:
    """Bring the plant to its start, hold inputs of zero for a trial, and tell what was measured."""
    task.check()
    settings = settings or task.settings
    punctuality = Punctuality(PATIENT, task.sampling_time)
    zero = np.zeros(len(task.inputs))
    with connected(task) as plant:
        (watch or Watcher()).ready(0)
        trial = execute(task, plant, lambda q: zero, seed=seed, punctuality=punctuality)
    seconds = punctuality.late[-1] + (len(punctuality.late) - 1) * task.sampling_time
    return DryRun(
        task=task.name,
        samples=trial.steps,
        wanted_samples=task.horizon,
        ended=trial.ended or None,
        seconds=seconds,
        rate=(len(punctuality.late) - 1) / seconds,
        wanted_rate=1 / task.sampling_time,
        realtime=task.realtime is not None,
        punctuality=punctuality.summary(),
        positions={
            p.name: {"start": float(q[0]), "moved": float(np.ptp(q)), "noise": float(np.diff(q).std() / np.sqrt(2))}
            for p, q in zip(task.positions, trial.q.T, strict=True)
        },
        units={p.name: p.unit for p in task.positions},
        explores=explores(task, settings, seed, trial.q),
        strange=task.far_from_start(trial.q[0]),
    ).judged()


def explores(task: Task, settings: Settings, seed: int, q: np.ndarray) -> dict[str, float]:
    """How far the exploration drives every input on a machine that is measured to stay at `q`."""
    control, slew = task.exploring(seed, 0), slew_of(settings.slew, task.limits)
    most = before = np.zeros(len(task.inputs))
    for t in range(task.horizon):
        u = settings.gentle * np.asarray(control(q[min(t, len(q) - 1)]))
        before = np.clip(u if slew is None else slew(u, before), -task.limits, task.limits)
        most = np.maximum(most, np.abs(before) / task.limits)
    return {i.name: float(share) for i, share in zip(task.inputs, most, strict=True)}
