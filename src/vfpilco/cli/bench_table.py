"""The table of `vfpilco bench`."""

from __future__ import annotations

from rich.table import Table

from vfpilco.studies.bench import BenchResult


def bench_table(measured: BenchResult) -> Table:
    """Gradient steps: time, ratios, memory; below it that of a robot arm."""
    arm = measured.six_joints
    table = Table(
        title="one gradient step, 400 particles, 90 time steps, two joints",
        caption=f"six joints, {arm.d_x} GP inputs, {arm.n} points, 200 particles, 200 time steps: "
        f"{1e3 * arm.seconds:.0f} ms",
        header_style="bold",
    )
    for name in ("points", "ms", "times faster than plain", "times the floor", "MB", "compile s", "fit s"):
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
        )
    return table
