"""The tables of `vfpilco bench`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.studies.bench import ARM_PARTICLES, BenchResult, Breakdown, Scaling, TimeToSuccess


def bench_tables(measured: BenchResult) -> list[Table]:
    """Gradient steps, the parts of one, and complete runs."""
    return [
        _steps(measured),
        _parts(measured.breakdown, measured.scaling),
        *([_runs(measured.to_success)] if measured.to_success else []),
    ]


def _steps(measured: BenchResult) -> Table:
    """Gradient steps: time, ratios, memory; below it that of a robot arm."""
    arm, particles = measured.six_joints, OptimiserSettings().particles
    table = Table(
        title=f"one gradient step, {particles} particles, 90 time steps, two joints",
        caption=f"six joints, {arm.d_x} GP inputs, {arm.n} points, {ARM_PARTICLES} particles, 200 time steps: "
        f"{1e3 * arm.seconds:.0f} ms",
        header_style="bold",
    )
    for name in ("points", "ms", "times faster than plain", "times the floor", "MB", "compile s", "fit s", "fit loss"):
        table.add_column(name, justify="right")
    for row in measured.gradient_step:
        speedup = row.speedup_vs_reference
        table.add_row(
            str(row.n),
            f"{1e3 * row.seconds:.0f}",
            "" if speedup is None else f"{speedup:.1f}",
            f"{row.ratio_to_floor:.2f}",
            f"{row.peak_mb:.0f}",
            f"{row.compile_seconds:.1f}",
            f"{row.fit_seconds:.1f}",
            "" if row.fit_loss is None else f"{max(row.fit_loss.nats):.3f}",
        )
    return table


def _parts(breakdown: Breakdown, scaling: Scaling | None) -> Table:
    """What a gradient step spends its time on; below it what more cores bring."""
    caption = (
        None
        if scaling is None
        else (
            f"one core: {1e3 * scaling.one_core:.0f} ms, {scaling.cores} cores: {1e3 * scaling.all_cores:.0f} ms, "
            f"efficiency {scaling.efficiency:.0%}"
        )
    )
    table = Table(title="parts of a gradient step at 450 points", caption=caption, header_style="bold")
    names = {"variance": "variances", "kernels": "kernels and means", "policy": "policy", "rest": "everything else"}
    table.add_column("part")
    table.add_column("ms", justify="right")
    for part, name in names.items():
        table.add_row(name, f"{1e3 * getattr(breakdown, part):.1f}")
    return table


def _runs(runs: Sequence[TimeToSuccess]) -> Table:
    """The median of complete runs until their first success."""
    table = Table(title=f"cart-pole until its first success, median of {len(runs)} runs", header_style="bold")
    columns = {
        **{"trials": "trials", "gradient_steps": "gradient steps", "seconds": "s", "compiling": "compiling s"},
        **{"fitting": "fitting s", "optimising": "optimising s", "predicting": "predicting s", "peak_mb": "MB"},
    }
    for name in columns.values():
        table.add_column(name, justify="right")
    table.add_row(*(f"{median(getattr(run, field) for run in runs):.0f}" for field in columns))
    return table
