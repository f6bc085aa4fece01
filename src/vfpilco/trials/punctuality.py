"""Monitors how punctual the samples of a trial are."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from vfpilco.data.failures import PlantError
from vfpilco.data.results import Timing
from vfpilco.plants.serve import certainly
from vfpilco.tasks.realtime import RealTime
from vfpilco.tasks.task import Task

T = TypeVar("T")
PRIORITY = 10
"""Real-time priority of a trial; any real-time priority is above that of ordinary programs."""


@dataclass
class Punctuality:
    """When every sample arrived, relative to when it was due, and how long the controller took."""

    rules: RealTime
    sampling_time: float
    strict: bool = True
    """Whether a trial that breaks the rules is stopped."""
    late: list[float] = field(default_factory=list)
    """Seconds by which each sample was late (negative: early); time is counted from the first sample."""
    missed: int = 0
    """How many missed their deadline."""
    early: int = 0
    """How many arrived too early, by the same margin."""
    computing: list[float] = field(default_factory=list)
    """Seconds from each measurement to the inputs computed from it."""

    def measured(self) -> None:
        """Record the arrival of a sample.

        Raises:
            PlantError: If too many samples missed their deadline or came too early, so that the machine is stopped.
        """
        now = time.perf_counter()
        if not self.late:
            self.begun = now
        self.late.append(now - self.begun - len(self.late) * self.sampling_time)
        self.latest = now
        limit = self.rules.missed * self.sampling_time
        self.early += self.late[-1] < -limit
        self.missed += self.late[-1] > limit
        problem = self.problem() if self.strict else None
        if problem:
            raise PlantError(problem)

    def problem(self) -> str | None:
        """Which rule the samples so far break, and what to do; None if they break none."""
        limit, stopped = 1e3 * self.rules.missed * self.sampling_time, ": the plant was stopped" if self.strict else ""
        if self.early > self.rules.most_missed:
            return (
                f"{self.early} samples came more than {limit:.4g} ms too early, the earliest by "
                f"{-1e3 * min(self.late):.4g} ms{stopped}. It is faster than the task's sampling time: let step() "
                "wait, for example with vfpilco.Clock, or correct sampling_time."
            )
        if self.missed > self.rules.most_missed:
            latest = int(np.argmax(self.late))
            return (
                f"{self.missed} samples came more than {limit:.4g} ms late, the latest by "
                f"{1e3 * self.late[latest]:.0f} ms (t = {latest * self.sampling_time:.3g} s){stopped}. Make the driver "
                "faster, sample more slowly, or allow more in the task's RealTime."
            )
        return None

    def answered(self) -> None:
        """Record that the inputs for the latest sample have been computed."""
        self.computing.append(time.perf_counter() - self.latest)

    def timing(self, trial: int) -> Timing:
        """A summary: fraction of late samples, largest delay, computing times of the controller."""
        late, computing = np.array(self.late[1:] or [0.0]), np.array(self.computing or [0.0])
        return Timing(
            trial,
            "samples",
            late_share=float(np.mean(late > self.rules.late * self.sampling_time)),
            latest_s=float(late.max()),
            computing_median_s=float(np.median(computing)),
            computing_longest_s=float(computing.max()),
        )

    def to_csv(self) -> str:
        """A CSV file with a row per sample."""
        computing = [f"{value:.6f}" for value in self.computing]
        computing += [""] * (len(self.late) - len(computing))
        rows = [f"{i},{late:.6f},{c}" for i, (late, c) in enumerate(zip(self.late, computing, strict=False))]
        return "\n".join(["sample,late_s,computing_s", *rows]) + "\n"


def undisturbed(work: Callable[[], T]) -> T:
    """The result of `work`, which neither garbage collection nor, where the system allows it, other programs delay."""
    collecting, before = gc.isenabled(), _ordinary_priority()

    def prioritised() -> T:
        gc.disable()
        if before is not None:
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        return work()

    def restore() -> None:
        if before is not None:
            os.sched_setscheduler(0, *before)
        if collecting:
            gc.enable()

    return certainly(prioritised, restore)


def _ordinary_priority() -> tuple[int, os.sched_param] | None:
    """The priority of this thread; None on systems without priorities, and for one that is in real time already."""
    try:
        policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    except (AttributeError, OSError):
        return None
    return None if parameters.sched_priority else (policy, parameters)


def timekeeper(task: Task) -> Punctuality | None:
    """A new monitor for a trial; None if the machine is not driven in real time."""
    rules = task.machine.realtime
    return None if rules is None else Punctuality(rules, task.machine.sampling_time)
