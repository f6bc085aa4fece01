"""What the terminal shows while a run learns or a policy is evaluated."""

from __future__ import annotations

import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from vfpilco.cli.prompts import wait_for_start
from vfpilco.common.text import printable, short
from vfpilco.data.results import EpisodeResult, TrialResult
from vfpilco.data.watcher import Watcher


class ProgressLine:
    """A live line at the bottom of the terminal, removed at the end; the start of what a display shows."""

    def __init__(self, console: Console, quiet: bool, *columns: TextColumn | BarColumn) -> None:
        self.console, self.quiet = console, quiet
        self.progress = Progress(*columns, console=console, disable=quiet, transient=True)

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()


class Display(ProgressLine, Watcher):
    """A live line (trial, phase, expected cost, time left), and a line for everything that has happened."""

    def __init__(self, console: Console, trials: int, quiet: bool = False, wait: bool = False) -> None:
        super().__init__(
            console,
            quiet,
            TextColumn("[bold]{task.fields[where]}"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[cost]}"),
            TextColumn("{task.fields[left]}"),
        )
        self.trials, self.wait = trials, wait
        self.notes: list[str] = []
        self.line = self.progress.add_task("starting", total=float(trials), where="", cost="", left="")
        self.trial, self.begun = 0, time.monotonic()
        self.before: float | None = None
        """How many trials were finished before."""

    def __enter__(self) -> Display:
        return self

    def phase(self, trial: int, name: str) -> None:
        self.trial = trial
        self.progress.start()
        where = f"trial {trial} of {self.trials}" if trial else "exploration"
        self.progress.update(self.line, description=name, where=where)

    def step(self, done: int, total: int, cost: float) -> None:
        finished = self.trial - 1 + done / total
        self.before = self.trial - 1 if self.before is None else self.before
        made, spent = finished - self.before, time.monotonic() - self.begun
        left = time_left(spent / made * (self.trials - finished)) if made > 0.05 else ""
        self.progress.update(self.line, completed=finished, cost=f"cost {short(cost)}", left=left)

    def ready(self, trial: int) -> None:
        if not self.wait:
            return
        shown = self.progress.live.is_started
        if shown:
            self.progress.stop()
        wait_for_start(f"trial {trial}" if trial else "the exploration")
        if shown:
            self.progress.start()

    def executed(self, result: TrialResult) -> None:
        if self.quiet:
            return
        details = measured(result)
        if result.predicted_cost is None:
            self.console.print(f"  exploration   cost {short(result.cost):>5}{details}")
            return
        mark = outcome(result, "not yet")
        cost, predicted = short(result.cost), short(result.predicted_cost.mean)
        chance = "" if result.success_chance is None else f", success {result.success_chance:.0%}"
        self.console.print(
            f"  trial {result.trial:<2}      cost {cost:>5}   predicted {predicted:>5}{chance}{details}   {mark}"
        )

    def note(self, text: str) -> None:
        self.notes.append(text)
        if not self.quiet:
            self.console.print(f"  [yellow]note[/]  {escape(printable(text))}", highlight=False)


class Episodes(Watcher):
    """A line for every episode of an evaluation."""

    def __init__(self, console: Console, quiet: bool = False, wait: bool = False) -> None:
        self.console, self.quiet, self.wait = console, quiet, wait

    def ready(self, trial: int) -> None:
        if self.wait:
            wait_for_start(f"episode {trial}")

    def evaluated(self, result: EpisodeResult) -> None:
        if not self.quiet:
            mark = outcome(result, "no success")
            cost = short(result.cost)
            self.console.print(f"  episode {result.episode:<4} cost {cost:>5}{measured(result)}   {mark}")


def outcome(result: TrialResult | EpisodeResult, otherwise: str) -> str:
    """Whether a trial was a success; one that ended early was not tested."""
    if result.success:
        return "[bold green]success[/]"
    return f"[dim]{otherwise if result.ended_s is None else 'success not tested'}[/]"


def measured(result: TrialResult | EpisodeResult) -> str:
    """The task's measures of a trial, and when it ended if that was early."""
    ended = "" if result.ended_s is None else f"   ended after {result.ended_s:.1f} s"
    return "".join(f"   {escape(name)} {value:.3g}" for name, value in result.measures.items()) + ended


def time_left(seconds: float) -> str:
    """A remaining time in words."""
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"
