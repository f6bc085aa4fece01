"""How fast a gradient step is, compared with a plain version of the same step and with its floor.

Every size is measured in a process of its own, so that its peak memory is its own. All numbers of a table come from
one run: times vary from run to run, ratios less so.
"""

from __future__ import annotations

from vfpilco.studies.bench.breakdown import Breakdown
from vfpilco.studies.bench.fit_loss import FitLoss
from vfpilco.studies.bench.problem import ARM_PARTICLES
from vfpilco.studies.bench.success import TimeToSuccess
from vfpilco.studies.bench.table import RUNS, SIZES, ArmRow, BenchResult, Scaling, StepRow, bench

__all__ = [
    "ARM_PARTICLES",
    "RUNS",
    "SIZES",
    "ArmRow",
    "BenchResult",
    "Breakdown",
    "FitLoss",
    "Scaling",
    "StepRow",
    "TimeToSuccess",
    "bench",
]
