"""Trying a plant without driving it: does it respond, how punctual is it, how noisy are its sensors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vfpilco.common.configuration import configure
from vfpilco.data.results import Timing
from vfpilco.data.watcher import Watcher
from vfpilco.machines.load import as_task
from vfpilco.policy.limits import InputLimits
from vfpilco.tasks.realtime import RealTime
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import Conditions, connected, execute
from vfpilco.trials.punctuality import Punctuality

PATIENT = RealTime(missed=1e9, step_timeout=math.inf, reset_timeout=math.inf)
"""For a machine that is not driven in real time: lateness is only measured."""


@dataclass(frozen=True)
class Observed:
    """What was measured of a position."""

    start: float
    moved: float
    """The range of the measurements."""
    noise: float
    """Standard deviation from sample to sample."""
    unit: str


@dataclass(frozen=True)
class DryRun:
    """What was measured on a plant without driving it."""

    task: str
    samples: int
    wanted_samples: int
    ended: str | None
    """Why it ended early."""
    seconds: float
    rate: float
    """Samples per second."""
    wanted_rate: float
    realtime: bool
    """Whether the task says that samples arrive in real time."""
    punctuality: Timing
    positions: dict[str, Observed]
    """What was measured of every position."""
    explores: dict[str, float]
    """How far the exploration would drive every input, as a fraction of its limit."""
    unexpected_start: str | None = None
    """Where it started, if that is not where the task says."""
    unpunctual: str | None = None
    """Which rule of the machine's RealTime the samples break, as a trial that is learned from must not."""
    problems: tuple[str, ...] = ()
    """What should be fixed before learning."""

    def with_problems(self) -> DryRun:
        """The same with its problems."""
        found = []
        if self.samples < self.wanted_samples:
            why = f": {self.ended}" if self.ended else ""
            found.append(f"It ended after {self.samples} of {self.wanted_samples} samples{why}.")
        rates = f"{self.rate:.4g} samples a second where the task has {self.wanted_rate:.4g}"
        if self.realtime and self.rate > 1.1 * self.wanted_rate:
            found.append(
                f"It is too fast, {rates}: let step() wait, e.g. with vfpilco.Clock, or correct sampling_time."
            )
        if self.realtime and self.rate < 0.98 * self.wanted_rate:
            found.append(f"It is too slow, {rates}: make the driver faster, or correct sampling_time.")
        if self.unpunctual:
            found.append(self.unpunctual)
        if self.unexpected_start:
            found.append(f"It started with {self.unexpected_start}: correct the task's start, or the machine's reset.")
        return replace(self, problems=tuple(found))

    def sentences(self) -> list[str]:
        """The same for a person."""
        said = [f"{self.task}: {self.samples} samples of {1e3 / self.wanted_rate:.4g} ms in {self.seconds:.3g} s."]
        if not self.realtime and self.rate > 1.1 * self.wanted_rate:
            said.append(
                "It runs faster than real time, as a simulation may. For a real machine give the machine a RealTime."
            )
        else:
            late, latest = self.punctuality.late_share or 0.0, 1e3 * (self.punctuality.latest_s or 0.0)
            said.append(f"{late:.1%} of the samples came late, the latest by {max(latest, 0):.1f} ms.")
        for name, seen in self.positions.items():
            unit = seen.unit
            said.append(
                f"{name}: starts at {seen.start:.5g} {unit}, moved by {seen.moved:.3g} {unit}, varies by "
                f"{seen.noise:.2g} {unit} from sample to sample."
            )
        for name, share in self.explores.items():
            said.append(f"{name}: was held at 0; the exploration will go up to {share:.0%} of its limit.")
        if all(seen.moved == 0 for seen in self.positions.values()):
            said.append(
                "No position changed at all, as of encoders at rest: turn the machine by hand to see that it measures."
            )
        verdict = [] if self.problems else ["It responds as expected."]
        return [*said, *verdict, "Nothing was learned and nothing was written."]


def dry_run(
    task: Task | str | Path, limits: InputLimits | None = None, seed: int = 0, watch: Watcher | None = None
) -> DryRun:
    """Bring the plant to its start, hold inputs of zero for a trial, and report what was measured.

    Args:
        task: The task, its name or its file.
        limits: How carefully the exploration would use the inputs.
        seed: Fixes the exploration.
        watch: Is asked before the plant is reset.

    Returns:
        Rate, lateness, noise and movement, how far the exploration would go, and problems to fix before learning.

    Raises:
        UserError: If the task cannot be learned.
        PlantError: If the plant fails.

    Example:
        >>> import vfpilco
        >>> vfpilco.dry_run("cartpole").problems
        ()
    """
    configure()
    task = as_task(task)
    task.check()
    machine = task.machine
    punctuality = Punctuality(machine.realtime or PATIENT, machine.sampling_time, strict=False)
    zero = np.zeros(len(machine.inputs))
    with connected(task) as plant:
        (watch or Watcher()).ready(0)
        trial = execute(task, plant, lambda q: zero, seed, Conditions(punctuality=punctuality))
    seconds = punctuality.late[-1] + (len(punctuality.late) - 1) * machine.sampling_time
    return DryRun(
        task=task.name,
        samples=trial.steps,
        wanted_samples=task.horizon,
        ended=trial.ended or None,
        seconds=seconds,
        rate=(len(punctuality.late) - 1) / seconds,
        wanted_rate=1 / machine.sampling_time,
        realtime=machine.realtime is not None,
        punctuality=punctuality.timing(0),
        positions={
            p.name: Observed(float(q[0]), float(np.ptp(q)), float(np.diff(q).std() / np.sqrt(2)), p.unit)
            for p, q in zip(machine.positions, trial.q.T, strict=True)
        },
        explores=explores(task, limits or InputLimits(), seed, trial.q),
        unexpected_start=task.far_from_start(trial.q[0]),
        unpunctual=punctuality.problem(),
    ).with_problems()


def explores(task: Task, careful: InputLimits, seed: int, q: np.ndarray) -> dict[str, float]:
    """How far the exploration drives every input on a machine that stays at the measured `q`."""
    machine = task.machine
    control, slew = task.explorer(seed, 0), careful.slew_limit(machine.limits)
    most = before = np.zeros(len(machine.inputs))
    for t in range(task.horizon):
        u = careful.gentle * np.asarray(control(q[min(t, len(q) - 1)]))
        before = np.clip(u if slew is None else slew(u, before), -machine.limits, machine.limits)
        most = np.maximum(most, np.abs(before) / machine.limits)
    return {i.name: float(share) for i, share in zip(machine.inputs, most, strict=True)}
