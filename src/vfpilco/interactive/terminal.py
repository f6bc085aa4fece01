"""What a terminal shows while a run learns."""

from __future__ import annotations

import math
import re
import time
from contextlib import ExitStack
from typing import Any, Self

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn

from vfpilco.common import interrupts
from vfpilco.common.compiled import announced
from vfpilco.common.say import shown
from vfpilco.common.text import printable, short
from vfpilco.data.results import EpisodeResult, Forecast, TrialResult
from vfpilco.data.risk import percent
from vfpilco.data.watcher import Watcher

INDENT = 16
"""The column at which words about a trial begin, beside its name."""


class ProgressLine:
    """A live line at the bottom of the terminal, removed at the end; the start of what a display shows."""

    def __init__(self, console: Console, quiet: bool, *columns: ProgressColumn) -> None:
        self.console, self.quiet = console, quiet
        self.progress = Progress(*columns, console=console, disable=quiet, transient=True)

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()


class Pace:
    """Estimates how long a run still takes from how far it has come."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.before: float | None = None
        """How many trials were finished before."""

    def left(self, finished: float, trials: int) -> str:
        """The time that is left after so many of all trials, in words; empty while that is not known."""
        self.before = math.ceil(finished) - 1 if self.before is None else self.before
        made, spent = finished - self.before, time.monotonic() - self.begun
        return time_left(spent / made * (trials - finished)) if made > 0.05 else ""


class Display(ProgressLine, Watcher):
    """A live line (trial, phase, expected cost, time left), and a line for everything that has happened."""

    def __init__(self, console: Console, trials: int, quiet: bool = False) -> None:
        super().__init__(
            console,
            quiet,
            SpinnerColumn(),
            TextColumn("[bold]{task.fields[where]}"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[cost]}"),
            TextColumn("{task.fields[left]}"),
        )
        self.trials, self.trial, self.pace, self.doing = trials, 0, Pace(), "starting"
        self.listening = ExitStack()
        self.notes: list[str] = []
        self.announced: int | None = None
        """The trial whose prediction was shown."""
        self.line = self.progress.add_task("starting", total=float(trials), where="", cost="", left="")

    def __enter__(self) -> Self:
        self.listening.enter_context(announced(self._compiling))
        self.listening.enter_context(interrupts.announced(self._stopping))
        return self

    def __exit__(self, *problem: Any) -> None:
        self.listening.close()
        super().__exit__(*problem)

    def _compiling(self, active: bool) -> None:
        self.progress.update(self.line, description=f"{self.doing} (compiling)" if active else self.doing)

    def _stopping(self) -> None:
        self.doing = "stopping"
        self.progress.update(self.line, description=self.doing, cost="", left="")

    def phase(self, trial: int, name: str) -> None:
        self.trial, self.doing = trial, name
        self.progress.start()
        self.progress.update(self.line, description=name, where=where(trial, self.trials))

    def step(self, done: int, total: int, cost: float) -> None:
        finished = self.trial - 1 + done / total
        left = self.pace.left(finished, self.trials)
        self.progress.update(self.line, completed=finished, cost=f"cost {short(cost)}", left=left)

    def predicted(self, trial: int, forecast: Forecast) -> None:
        self.announced = trial
        if not self.quiet:
            lines = hanging(f"trial {trial}", expectation(forecast), ",", self.console.width)
            self.console.print(escape(lines), highlight=False, soft_wrap=True)
            if forecast.risk.reach:
                lines = hanging("at most", printable(forecast.risk.reach), ";", self.console.width)
                self.console.print(f"[dim]{escape(lines)}[/]", highlight=False, soft_wrap=True)

    def executed(self, result: TrialResult) -> None:
        if not self.quiet:
            words = sentence(result, predicted=result.trial != self.announced)
            self.console.print(f"  {words}   {outcome(result, 'not yet')}")
            if result.explanation is not None:
                words = f"[dim]{shown(result.explanation.text)}[/]"
                self.console.print(Padding(words, (0, 0, 0, INDENT), expand=False), highlight=False)

    def note(self, text: str) -> None:
        self.notes.append(text)
        if not self.quiet:
            self.console.print(f"  [yellow]note[/]  {shown(text)}", highlight=False)


def where(trial: int, trials: int) -> str:
    """Which trial is being learned."""
    return f"trial {trial} of {trials}" if trial else "exploration"


def expectation(forecast: Forecast) -> str:
    """What is predicted of a trial: cost, success, and the risk of leaving safe ranges."""
    chance = "" if forecast.success_chance is None else f", success {percent(forecast.success_chance)}"
    risk = f", {printable(forecast.risk.words)}" if forecast.risk.words else ""
    return f"predicted {short(forecast.predicted_cost.mean)}{chance}{risk}"


def hanging(label: str, text: str, separator: str, width: int) -> str:
    """A label, and a text beside it in as many lines as it needs: they end after separators outside of parentheses.

    Example:
        >>> print(hanging("at most", "p 0.31/0.42 m, 1.2/1.9 m/s; force 10 N (95/99.9 %)", ";", 50))
          at most       p 0.31/0.42 m, 1.2/1.9 m/s;
                        force 10 N (95/99.9 %)
    """
    first, *others = re.split(rf"(?<={separator}) (?![^(]*\))", text)
    lines = [f"  {label:<{INDENT - 2}}{first}"]
    for part in others:
        longer = f"{lines[-1]} {part}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(" " * INDENT + part)
    return "\n".join(lines)


def sentence(result: TrialResult, predicted: bool = True) -> str:
    """An execution: cost, the task's measures, and what was predicted unless a line has shown it before."""
    details = measured(result)
    if result.trial is None:
        return f"exploration   cost {short(result.cost):>5}{details}"
    band, chance = result.predicted_cost, result.success_chance
    if predicted and band is not None:
        success = "" if chance is None else f", success {percent(chance)}"
        details = f"   predicted {short(band.mean):>5}{success}{details}"
    return f"trial {result.trial:<2}      cost {short(result.cost):>5}{details}"


def outcome(result: TrialResult | EpisodeResult, otherwise: str) -> str:
    """Whether a trial was a success; one that ended early was not tested."""
    if result.success:
        return "[bold green]success[/]"
    return f"[dim]{otherwise if result.ended_s is None else 'success not tested'}[/]"


def measured(result: TrialResult | EpisodeResult) -> str:
    """The task's measures of a trial, and when it ended if that was early."""
    ended = "" if result.ended_s is None else f"   ended after {result.ended_s:.1f} s"
    return "".join(f"   {shown(name)} {value:.3g}" for name, value in result.measures.items()) + ended


def time_left(seconds: float) -> str:
    """A remaining time in words."""
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"
