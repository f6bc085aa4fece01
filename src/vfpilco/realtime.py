"""Keeping time with a machine: a clock for its driver, and a look at how punctual every sample was."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from vfpilco.errors import PlantError, UserError

PRIORITY = 10
"""Of a trial in real time among real-time programs, which all go before others."""


class Clock:
    """Ticks at a constant rate on a monotonic clock; for a driver that has to wait for the end of a sampling time.

    `start()` when a trial begins, then `wait()` once per sample, between writing inputs and reading positions.
    """

    def __init__(self, sampling_time: float) -> None:
        self.sampling_time = sampling_time
        self.due = time.perf_counter()

    def start(self) -> None:
        """The first sample is now."""
        self.due = time.perf_counter()

    def wait(self) -> float:
        """Sleep until the next sample is due; returns how late it is, in seconds."""
        self.due += self.sampling_time
        left = self.due - time.perf_counter()
        if left > 0:
            time.sleep(left)
        return max(time.perf_counter() - self.due, 0.0)


@dataclass(frozen=True)
class RealTime:
    """How punctual samples have to be when a machine is driven in real time."""

    late: float = 0.1
    """A sample that comes more than this share of a sampling time after it was due counts as late."""
    missed: float = 1.0
    """One that comes more than this share after it was due has missed its deadline."""
    most_missed: int = 3
    """How many deadlines may be missed before the machine is stopped."""

    def __post_init__(self) -> None:
        if not (0 < self.late <= self.missed < float("inf")) or self.most_missed < 0:
            raise UserError(
                f"In real time 0 < late <= missed and most_missed >= 0 are needed, got {self.late}, {self.missed} and "
                f"{self.most_missed}: choose shares of a sampling time such as 0.1 and 1."
            )


@dataclass
class Punctuality:
    """When every sample came, against when it was due, and how long the controller took to answer."""

    rules: RealTime
    sampling_time: float
    late: list[float] = field(default_factory=list)
    """Seconds after (or before) each sample was due; the first one begins the count."""
    missed: int = 0
    """How many came too late, by the rules."""
    hasty: int = 0
    """How many came as much too early."""
    computing: list[float] = field(default_factory=list)
    """Seconds from each measurement to the inputs that answer it."""

    def measured(self) -> None:
        """A sample has come in: the machine is stopped if too many came too late."""
        now = time.perf_counter()
        if not self.late:
            self.begun = now
        self.late.append(now - self.begun - len(self.late) * self.sampling_time)
        self.latest = now
        limit = self.rules.missed * self.sampling_time
        self.hasty += self.late[-1] < -limit
        self.missed += self.late[-1] > limit
        if self.hasty > self.rules.most_missed:
            raise PlantError(
                f"{self.hasty} samples came more than {1e3 * limit:.4g} ms too early, the last one by "
                f"{-1e3 * self.late[-1]:.4g} ms: the plant was stopped. It is faster than the task's sampling time "
                "says: let step() wait, for example with vfpilco.Clock, or mend sampling_time."
            )
        if self.missed > self.rules.most_missed:
            raise PlantError(
                f"{self.missed} samples came more than {1e3 * limit:.4g} ms late, the last one by "
                f"{1e3 * self.late[-1]:.0f} ms (t = {(len(self.late) - 1) * self.sampling_time:.3g} s): the plant was "
                "stopped. Make the driver faster, sample more slowly, or allow more in the task's RealTime."
            )

    def answered(self) -> None:
        """The inputs that answer the latest sample are known."""
        self.computing.append(time.perf_counter() - self.latest)

    def summary(self) -> dict[str, float]:
        """The share of late samples, the worst one, and how long the controller took, in seconds."""
        late, computing = np.array(self.late[1:] or [0.0]), np.array(self.computing or [0.0])
        return {
            "late_share": float(np.mean(late > self.rules.late * self.sampling_time)),
            "latest_s": float(late.max()),
            "computing_median_s": float(np.median(computing)),
            "computing_longest_s": float(computing.max()),
        }

    def to_csv(self) -> str:
        """A row per sample."""
        computing = [f"{value:.6f}" for value in self.computing]
        computing += [""] * (len(self.late) - len(computing))
        rows = [f"{i},{late:.6f},{c}" for i, (late, c) in enumerate(zip(self.late, computing, strict=False))]
        return "\n".join(["sample,late_s,computing_s", *rows]) + "\n"


@contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing is tidied up in here that could hold up a sample, and other programs wait where we may have them wait."""
    running = gc.isenabled()
    gc.disable()
    try:
        with _before_others():
            yield
    finally:
        if running:
            gc.enable()


@contextmanager
def _before_others() -> Iterator[None]:
    """Real-time priority for this thread, on a system that has it and lets us."""
    try:
        usual = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (AttributeError, OSError):
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *usual)
