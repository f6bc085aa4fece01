"""What a run writes and shows at its end: pictures, report, table."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from vfpilco.cli.display import Display
from vfpilco.cli.tables import posterior_sentence, results_table
from vfpilco.common.say import shown
from vfpilco.data.records import to_json_types
from vfpilco.data.results import TrialResult
from vfpilco.report import write_report
from vfpilco.report.picture import draw_run, photograph_run
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task, never
from vfpilco.trials.result import RunResult


@dataclass(frozen=True)
class Outputs:
    """What a run has learned and written."""

    result: RunResult
    pictures: list[str]
    report: str | None

    def to_json(self, out: Path, notes: list[str]) -> dict[str, Any]:
        """The same as a JSON object, for the run in the folder `out`."""
        return {
            "run": str(out),
            "pictures": self.pictures,
            "report": self.report,
            "notes": notes,
            "results": [row_to_json(row) for row in self.result.rows],
        }

    @property
    def solved(self) -> bool:
        """Whether the last trial was a success, or the task has no success test."""
        task = self.result.task
        return (task.success is never and not task.end_is_success) or self.result.successes[-1:] == [True]

    def show(self, console: Console, out: Path, advice: list[str]) -> None:
        """Print what a person sees at the end of the run in the folder `out`, and what to try next."""
        rows = self.result.rows
        lines = [("posterior", posterior_sentence(rows)), *(("picture", picture) for picture in self.pictures)]
        lines += [] if self.report is None else [("report", self.report)]
        lines += [("run", str(out))]
        lines += [("next", each) for each in advice] or [("again", shlex.join([*program(), "evaluate", str(out)]))]
        console.print(results_table(rows, self.result.task.measures))
        for name, text in lines:
            console.print(f"{name:<9} {shown(text)}", highlight=False, soft_wrap=True)


def row_to_json(row: TrialResult) -> dict[str, Any]:
    """A line of the results as a JSON object, which always has its notes."""
    return {**to_json_types(row), "notes": row.notes}


def program() -> list[str]:
    """How this program is called."""
    return ["vfpilco"] if shutil.which("vfpilco") else [Path(sys.executable).name, "-m", "vfpilco"]


def try_pictures(task: Task, out: Path, display: Display) -> list[str]:
    """Draw the pictures of a run; a note says why one could not be drawn."""
    wanted: dict[str, Callable[..., Path]] = {"picture.png": draw_run}
    if task.machine.drawing.photograph is not None:
        wanted["photograph.png"] = photograph_run
    made = []
    for name, draw in wanted.items():
        try:
            made.append(str(draw(task, RunFolder(out, task.settings), out / name)))
        except Exception as error:
            display.note(f"There is no {name}: {error}")
    return made


def try_report(task: Task, out: Path, display: Display) -> str | None:
    """Write the page of a run; a note says why it could not be written."""
    try:
        return str(write_report(RunFolder(out, task.settings), task=task))
    except Exception as error:
        display.note(f"There is no report: {type(error).__name__}: {error}")
        return None
