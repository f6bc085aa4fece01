"""The rows of the benchmark, each measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TypeVar

import jax

from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError
from vfpilco.data.records import from_json_types
from vfpilco.model.fit import MOST_EXACT
from vfpilco.studies.bench.breakdown import Breakdown
from vfpilco.studies.bench.fit_loss import FitLoss
from vfpilco.studies.bench.measurements import ArmTimes, CartPoleTimes, OneCoreTimes, PlainTimes
from vfpilco.studies.bench.success import TimeToSuccess

Measured = TypeVar("Measured")
SIZES = (90, 180, 450, 900, 1800, 10_000)
"""Training points to measure at."""
REFERENCE_UP_TO = 450
"""Training points up to which the plain version is measured; beyond, it only takes longer."""
ARM_POINTS = 800
"""Training points of the robot arm."""
BREAKDOWN_POINTS = 450
"""Training points of the gradient step that is divided into its parts."""
RUNS, FIRST_SEED = 5, 100
"""Complete runs, and the seed of the first of them."""


@dataclass(frozen=True)
class StepRow:
    """A gradient step on the cart-pole."""

    n: int
    """Training points."""
    seconds: float
    speedup_vs_reference: float | None
    """How many times longer the plain version takes; None if it was not measured."""
    ratio_to_floor: float
    """How many times longer it takes than its products and exponentials alone."""
    peak_mb: float
    """Peak memory of the process."""
    compile_seconds: float
    particle_steps_per_second: float
    fit_seconds: float
    """The time of a fit from a cold start, without its compilation."""
    fit_loss: FitLoss | None = None
    """What it loses against the exact evidence; None where that is what it maximises."""


@dataclass(frozen=True)
class ArmRow:
    """A gradient step of a robot arm with six joints."""

    n: int
    """Training points."""
    d_x: int
    """GP inputs."""
    seconds: float
    compile_seconds: float
    peak_mb: float
    particle_steps_per_second: float


@dataclass(frozen=True)
class Scaling:
    """A gradient step at `BREAKDOWN_POINTS` on one core and on all."""

    cores: int
    one_core: float
    """Seconds on one core."""
    all_cores: float
    """Seconds on all of them."""

    @property
    def efficiency(self) -> float:
        """How many times faster it is on all cores, relative to their number."""
        return self.one_core / (self.cores * self.all_cores)


@dataclass(frozen=True)
class BenchResult:
    """All times and ratios of one benchmark."""

    gradient_step: list[StepRow]
    breakdown: Breakdown
    """The parts of a gradient step at `BREAKDOWN_POINTS`."""
    scaling: Scaling | None
    """What a second core brings; None where a process cannot be limited to one."""
    six_joints: ArmRow
    to_success: list[TimeToSuccess]
    """Complete runs until their first success, seed by seed."""
    devices: int
    """The number of devices that JAX uses."""


def bench(sizes: tuple[int, ...] = SIZES, runs: int = RUNS) -> BenchResult:
    """Measure gradient steps and fits at these numbers of training points, their parts, a robot arm, complete runs.

    Raises:
        UserError: If a measurement fails.
    """
    configure()
    rows = [_step_row(n) for n in sizes]
    arm = _in_own_process(ArmTimes, ARM_POINTS)
    breakdown = _in_own_process(Breakdown, BREAKDOWN_POINTS)
    scaling = _scaling() if hasattr(os, "sched_setaffinity") else None
    to_success = [_in_own_process(TimeToSuccess, FIRST_SEED + i) for i in range(runs)]
    six_joints = ArmRow(n=ARM_POINTS, d_x=arm.d_x, **vars(arm.step))
    return BenchResult(rows, breakdown, scaling, six_joints, to_success, len(jax.devices()))


def _scaling() -> Scaling:
    one = _in_own_process(OneCoreTimes, BREAKDOWN_POINTS)
    every = _in_own_process(CartPoleTimes, BREAKDOWN_POINTS)
    return Scaling(len(os.sched_getaffinity(0)), one.seconds, every.step.seconds)


def _step_row(n: int) -> StepRow:
    ours = _in_own_process(CartPoleTimes, n)
    plain = _in_own_process(PlainTimes, n) if n <= REFERENCE_UP_TO else None
    return StepRow(
        n=n,
        speedup_vs_reference=None if plain is None else plain.seconds / ours.step.seconds,
        ratio_to_floor=ours.step.seconds / ours.floor,
        fit_seconds=ours.fit_seconds,
        fit_loss=_in_own_process(FitLoss, n) if n > MOST_EXACT else None,
        **vars(ours.step),
    )


def _in_own_process(cls: type[Measured], n: int) -> Measured:
    program = [sys.executable, "-m", "vfpilco.studies.bench", cls.__name__, str(n)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise UserError(f"Measuring {cls.__name__} with {n} failed: {reason}.")
    return from_json_types(json.loads(done.stdout.splitlines()[-1]), cls)
