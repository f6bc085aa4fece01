"""What a person sees in the terminal while a run learns, and at its end."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from vfpilco.errors import UserError
from vfpilco.studies.engines import Outcome
from vfpilco.studies.reproduce import Audience
from vfpilco.task import Measure
from vfpilco.watch import Watcher


class Display(Watcher):
    """A live line (trial, phase, expected cost, time left), and a line for everything that has happened."""

    def __init__(self, console: Console, trials: int, quiet: bool = False, wait: bool = False) -> None:
        self.console, self.trials, self.quiet, self.wait = console, trials, quiet, wait
        self.notes: list[str] = []
        self.progress = Progress(
            TextColumn("[bold]{task.fields[where]}"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[cost]}"),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=quiet,
            transient=True,
        )
        self.line = self.progress.add_task("starting", total=float(trials), where="", cost="", left="")
        self.trial, self.begun = 0, time.monotonic()
        self.before: float | None = None
        """How many trials had been done before."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def phase(self, trial: int, name: str) -> None:
        self.trial = trial
        self.progress.start()
        where = f"trial {trial} of {self.trials}" if trial else "exploration"
        self.progress.update(self.line, description=name, where=where)

    def step(self, done: int, total: int, cost: float) -> None:
        finished = self.trial - 1 + done / total
        self.before = self.trial - 1 if self.before is None else self.before
        made, spent = finished - self.before, time.monotonic() - self.begun
        left = spent / made * (self.trials - finished) if made > 0.05 else None
        text = "" if left is None else f"about {_duration(left)} left"
        self.progress.update(self.line, completed=finished, cost=f"cost {short(cost)}", left=text)

    def ready(self, trial: int) -> None:
        if not self.wait:
            return
        shown = self.progress.live.is_started
        if shown:
            self.progress.stop()
        wait_for_start(f"trial {trial}" if trial else "the exploration")
        if shown:
            self.progress.start()

    def executed(self, row: dict[str, Any]) -> None:
        if self.quiet:
            return
        if row["kind"] == "explore":
            self.console.print(f"  exploration   cost {short(row['cost']):>5}{told(row)}")
            return
        mark = "[bold green]success[/]" if row["success"] else "[dim]not yet[/]"
        cost, predicted = short(row["cost"]), short(row["predicted_cost"]["mean"])
        self.console.print(
            f"  trial {row['trial']:<2}      cost {cost:>5}   predicted {predicted:>5}{told(row)}   {mark}"
        )

    def note(self, text: str) -> None:
        self.notes.append(text)
        if not self.quiet:
            self.console.print(f"  [yellow]note[/]  {escape(text)}", highlight=False)


class Episodes(Watcher):
    """A line for every episode of an evaluation."""

    def __init__(self, console: Console, quiet: bool = False, wait: bool = False) -> None:
        self.console, self.quiet, self.wait = console, quiet, wait

    def ready(self, trial: int) -> None:
        if self.wait:
            wait_for_start(f"episode {trial}")

    def executed(self, row: dict[str, Any]) -> None:
        if not self.quiet:
            mark = "[bold green]success[/]" if row["success"] else "[dim]no success[/]"
            self.console.print(f"  episode {row['episode']:<4} cost {short(row['cost']):>5}{told(row)}   {mark}")


NOBODY = "Nobody is there to press Enter: leave --wait out, or run in a terminal."


def wait_for_start(what: str) -> None:
    """Ask a person to put the machine in its start, and wait."""
    try:
        Console(stderr=True).input(f"  Put the machine in its start for {what}, then press Enter (Ctrl-C stops) ")
    except EOFError as error:
        print(file=sys.stderr)
        raise UserError(NOBODY) from error


def somebody_there() -> None:
    """Refuse to wait for a person where nobody can answer, before anything is begun."""
    if sys.stdin is None:
        raise UserError(NOBODY)
    if sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return
    if not sys.stdin.buffer.peek(1):  # pyright: ignore[reportAttributeAccessIssue]
        raise UserError(NOBODY)


class StudyDisplay(Audience):
    """A bar of the runs of a study with the time left, and a line for every run."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self.console, self.quiet = console, quiet
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=quiet,
            transient=True,
        )
        self.line = self.progress.add_task("", total=1, left="")

    def __enter__(self) -> StudyDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def begin(self, total: int, standing: int, missing: int) -> None:
        if not self.quiet:
            self.console.print(f"{total} runs: {standing} stand in the results, {missing} to be made", highlight=False)
        if missing:
            self.progress.start()
            self.progress.update(self.line, total=missing)

    def finished(self, outcome: Outcome, done: int, missing: int, left: float) -> None:
        self.progress.update(self.line, completed=done, left=f"about {_duration(left)} left" if done < missing else "")
        if self.quiet:
            return
        if outcome.record is None:
            said = f"[red]failed[/]  {escape(outcome.problem)}"
        else:
            rows = [row for row in outcome.record["results"] if row["kind"] == "policy"]
            said = "  ".join(f"{short(row['cost']):>5}{'[green]*[/]' if row['success'] else ' '}" for row in rows)
        self.console.print(f"  {escape(outcome.job.name):<24} {said}", highlight=False)


def short(cost: float) -> str:
    """A cost with as many digits as tell something."""
    return f"{cost:.1f}" if abs(cost) >= 10 else f"{cost:.3g}"


def told(row: dict[str, Any]) -> str:
    """What else was measured of a trial."""
    ended = f"   ended after {row['ended_s']:.1f} s" if "ended_s" in row else ""
    return "".join(f"   {escape(name)} {value:.3g}" for name, value in row.get("measures", {}).items()) + ended


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def results_table(rows: list[dict[str, Any]], measures: tuple[Measure, ...] = ()) -> Table:
    """The table of trials: experience so far, predicted cost with its band, real cost, what else is told, success."""
    table = Table(title=None, header_style="bold")
    for name, justify in [
        ("trial", "left"),
        ("experience", "right"),
        ("predicted cost (95 % band)", "right"),
        ("real cost", "right"),
        *((f"{escape(measure.name)} [{escape(measure.unit)}]".replace("[", "\\["), "right") for measure in measures),
        ("success", "left"),
    ]:
        table.add_column(name, justify=justify)  # pyright: ignore[reportArgumentType]
    for row in rows:
        predicted = row.get("predicted_cost")
        table.add_row(
            str(row["trial"]) if row["kind"] == "policy" else "exploration",
            f"{row['experience_s']:.3g} s",
            _band(predicted) if predicted else "",
            short(row["cost"]),
            *(f"{row['measures'][measure.name]:.3g}" for measure in measures),
            "[green]yes[/]" if row["success"] else "no",
        )
    return table


def _band(predicted: dict[str, float]) -> str:
    return f"{short(predicted['mean'])} ({short(predicted['low'])} to {short(predicted['high'])})"


def runs_table(runs: list[dict[str, Any]], folder: Path) -> Table:
    """The table of runs in a folder; what is wrong with a damaged one stands below it."""
    colours = {"running": "cyan", "finished": "green", "interrupted": "yellow", "damaged": "red"}
    colours |= {"waiting": "cyan", "told": "cyan"}
    problems = [run["problem"] for run in runs if run["problem"]]
    caption = escape("\n".join(problems)) or None
    # No lines between columns: 80 characters are few, and only names may need several rows.
    table = Table(
        header_style="bold", caption=caption, caption_justify="left", box=None, pad_edge=False, padding=(0, 1)
    )
    for name in ("run", "task"):
        table.add_column(name, overflow="fold")
    for name in ("seed", "trials", "best\ncost", "success", "state"):
        table.add_column(name, justify="left" if name in ("success", "state") else "right", no_wrap=True)
    for run in runs:
        best, success = run["best_cost"], run["first_success"]
        table.add_row(
            escape(os.path.relpath(run["run"], folder)),
            escape(str(run["task"] or "")),
            "" if run["seed"] is None else str(run["seed"]),
            "" if run["trials"] is None else f"{run['done']} of {run['trials']}",
            "" if best is None else short(best),
            "" if not run["done"] else "no" if success is None else f"trial {success}",
            f"[{colours[run['state']]}]{run['state']}[/]",
        )
    return table


def posterior_sentence(rows: list[dict[str, Any]]) -> str:
    """Which GP posterior the last policy was learned on, and the most it lost on any trial."""
    used = [row["model"]["posterior"] for row in rows if row["kind"] == "policy"]
    if not used:
        return ""
    if used[-1]["kind"] == "exact":
        return f"exact, {used[-1]['points']} points"
    error = max(max(row["excess_error"]) for row in used)
    density = max(max(row["lost_log_density"]) for row in used)
    points = used[-1]["points"]
    return (
        f"projected on {min(used[-1]['inducing'], points)} of {points} points; against the exact one at most "
        f"{error:+.2%} one-step error, {-density:+.4f} nats"
    )


def bench_table(measured: dict[str, Any]) -> Table:
    """The table of gradient steps: time, ratios, memory; the robot arm's below it."""
    arm = measured["six_joints"]
    table = Table(
        title="one gradient step, 400 particles, 90 time steps, two joints",
        caption=f"six joints, {arm['d_x']} GP inputs, {arm['n']} points, 200 particles, 200 time steps: "
        f"{1e3 * arm['seconds']:.0f} ms",
        header_style="bold",
    )
    for name in ("points", "ms", "times faster than plain", "times the floor", "MB", "compile s", "fit s"):
        table.add_column(name, justify="right")
    for row in measured["gradient_step"]:
        speedup = row["speedup_vs_reference"]
        table.add_row(
            str(row["n"]),
            f"{1e3 * row['seconds']:.0f}",
            "" if speedup is None else f"{speedup:.1f}",
            f"{row['ratio_to_floor']:.2f}",
            f"{row['peak_mb']:.0f}",
            f"{row['compile_seconds']:.1f}",
            f"{row['fit_seconds']:.1f}",
        )
    return table
