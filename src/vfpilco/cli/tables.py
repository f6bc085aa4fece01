"""Tables: the trials of a run, and the runs in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from vfpilco.common.say import shown
from vfpilco.common.text import short
from vfpilco.data.results import CostBand, TrialResult
from vfpilco.machines.runs import RunSummary
from vfpilco.tasks.task import Measure

COLOURS = {
    "running": "cyan",
    "finished": "green",
    "interrupted": "yellow",
    "damaged": "red",
    "waiting": "cyan",
    "ready": "cyan",
}
"""The colour of every state of a run."""


def results_table(rows: Sequence[TrialResult], measures: Sequence[Measure] = ()) -> Table:
    """The trials of a run: experience so far, predicted cost with its band, real cost, measures, success."""
    table = Table(title=None, header_style="bold")
    table.add_column("trial")
    for name in ("experience", "predicted cost (95 % band)", "real cost", *map(_heading, measures)):
        table.add_column(name, justify="right")
    table.add_column("success")
    for row in rows:
        table.add_row(
            str(row.trial) if row.kind == "policy" else "exploration",
            f"{row.experience_s:.3g} s",
            "" if row.predicted_cost is None else _band(row.predicted_cost),
            short(row.cost),
            *(f"{row.measures[measure.name]:.3g}" for measure in measures),
            "[green]yes[/]" if row.success else "no",
        )
    return table


def _heading(measure: Measure) -> str:
    return shown(f"{measure.name} [{measure.unit}]")


def _band(predicted: CostBand) -> str:
    return f"{short(predicted.mean)} ({short(predicted.low)} to {short(predicted.high)})"


def posterior_sentence(rows: Sequence[TrialResult]) -> str:
    """Which GP posterior the last policy was learned on, and the most it lost on any trial."""
    used = [row.model.posterior for row in rows if row.model is not None and row.model.posterior is not None]
    if not used:
        return ""
    last = used[-1]
    if last.inducing is None:
        return f"exact, {last.points} points"
    error = max(max(posterior.excess_error) for posterior in used if posterior.excess_error)
    density = max(max(posterior.lost_log_density) for posterior in used if posterior.lost_log_density)
    return (
        f"projected on {min(last.inducing, last.points)} of {last.points} points; against the exact one at most "
        f"{error:+.2%} one-step error, {-density:+.4f} nats"
    )


def runs_table(runs: Sequence[RunSummary], folder: Path) -> Table:
    """The runs in a folder; below it what is wrong with damaged ones."""
    caption = "\n".join(shown(run.problem) for run in runs if run.problem) or None
    # No lines between columns: 80 characters are few, and only names may need several rows.
    table = Table(
        header_style="bold", caption=caption, caption_justify="left", box=None, pad_edge=False, padding=(0, 1)
    )
    for name in ("run", "task"):
        table.add_column(name, overflow="fold")
    for name in ("seed", "trials", "best\ncost", "success", "state"):
        table.add_column(name, justify="left" if name in ("success", "state") else "right", no_wrap=True)
    for run in runs:
        table.add_row(
            shown(os.path.relpath(run.run, folder)),
            shown(run.task or ""),
            "" if run.seed is None else str(run.seed),
            "" if run.trials is None else f"{run.done} of {run.trials}",
            "" if run.best_cost is None else short(run.best_cost),
            "" if not run.done else "no" if run.first_success is None else f"trial {run.first_success}",
            f"[{COLOURS[run.state]}]{run.state}[/]",
        )
    return table
