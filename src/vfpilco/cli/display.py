"""What the terminal shows while a run learns, a policy is evaluated or a film is drawn, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, TextColumn

from vfpilco.cli.prompts import agrees_to_risk, wait_for_start
from vfpilco.common.say import shown
from vfpilco.common.text import short
from vfpilco.data.results import EpisodeResult, Forecast
from vfpilco.data.watcher import Watcher
from vfpilco.interactive import terminal
from vfpilco.interactive.terminal import ProgressLine, measured, outcome


class Display(terminal.Display):
    """The display of a run that may wait for a person before every trial."""

    def __init__(self, console: Console, trials: int, quiet: bool = False, wait: bool = False) -> None:
        super().__init__(console, trials, quiet)
        self.wait = wait

    def accepts(self, trial: int, forecast: Forecast) -> bool:
        if not self.wait:
            return False
        with self.without_line():
            return agrees_to_risk(trial, forecast.risk)

    def ready(self, trial: int) -> None:
        if self.wait:
            with self.without_line():
                wait_for_start(f"trial {trial}" if trial else "the exploration")

    @contextmanager
    def without_line(self) -> Iterator[None]:
        """Hide the live line while a person is asked."""
        shown = self.progress.live.is_started
        if shown:
            self.progress.stop()
        yield
        if shown:
            self.progress.start()


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
            if result.ended:
                why = f"[dim]{shown(result.ended)}[/]"
                self.console.print(Padding(why, (0, 0, 0, 15), expand=False), highlight=False)


class FilmProgress(ProgressLine):
    """A bar of the frames of a film, called with those that are drawn and all."""

    def __init__(self, quiet: bool = False) -> None:
        console = Console(stderr=True)
        super().__init__(
            console,
            quiet or not console.is_terminal,
            TextColumn("drawing"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f} of {task.total:.0f} frames"),
        )
        self.line = self.progress.add_task("", total=1)

    def __enter__(self) -> FilmProgress:
        self.progress.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        self.progress.update(self.line, completed=done, total=total)
