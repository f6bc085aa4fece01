"""What the terminal shows while a study runs."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, TextColumn

from vfpilco.common.say import shown
from vfpilco.common.text import short
from vfpilco.interactive.terminal import ProgressLine, time_left
from vfpilco.studies.engines import Outcome
from vfpilco.studies.reproduce import StudyWatcher


class StudyDisplay(ProgressLine, StudyWatcher):
    """A bar of the runs of a study with the time left, and a line for every run."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        super().__init__(
            console,
            quiet,
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            TextColumn("{task.fields[left]}"),
        )
        self.line = self.progress.add_task("", total=1, left="")

    def __enter__(self) -> StudyDisplay:
        return self

    def begin(self, total: int, finished: int, missing: int) -> None:
        if not self.quiet:
            self.console.print(f"{total} runs: {finished} finished, {missing} missing", highlight=False)
        if missing:
            self.progress.start()
            self.progress.update(self.line, total=missing)

    def run_finished(self, outcome: Outcome, done: int, missing: int, left: float) -> None:
        self.progress.update(self.line, completed=done, left=time_left(left) if done < missing else "")
        if not self.quiet:
            self.console.print(f"  {shown(outcome.job.name):<24} {_costs(outcome)}", highlight=False)


def _costs(outcome: Outcome) -> str:
    """The cost of every policy of a run, with a star for success; or why the run failed."""
    if outcome.record is None:
        return f"[red]failed[/]  {shown(outcome.problem)}"
    results = [result for result in outcome.record.results if result.kind == "policy"]
    return "  ".join(f"{short(result.cost):>5}{'[green]*[/]' if result.success else ' '}" for result in results)
