"""The page of a run that is still learning: rewritten as the run proceeds, and reloaded by the browser."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.data.results import TrialResult
from vfpilco.data.watcher import Watcher
from vfpilco.report.run import LiveStatus, write_run
from vfpilco.report.source import Source
from vfpilco.report.trials import trial_data
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task

EVERY = 4.0
"""Seconds between two pages while a policy is optimised."""
MOST_SHARE = 0.05
"""The largest fraction of the time that is spent on pages."""


class LivePage(Watcher):
    """Keeps `report.html` of a run up to date; a failure is noted once and does not stop the run.

    Args:
        task: The task of the run.
        out: The folder of the run.
        note: Is called with every message for the user.
    """

    def __init__(self, task: Task, out: Path, note: Callable[[str], None]) -> None:
        self.task, self.folder, self.file, self.notify = task, RunFolder(out), out / "report.html", note
        self.trials: dict[int, dict[str, Any]] = {}
        self.steps: list[tuple[int, float]] = []
        self.status, self.opened, self.failed = "Starting.", False, False
        self.next_time = 0.0

    def phase(self, trial: int, name: str) -> None:
        self.status = f"Trial {trial}: {name}." if trial else f"Before the first trial: {name}."
        self.steps = []
        self.write()

    def step(self, done: int, total: int, cost: float) -> None:
        self.steps.append((done, cost))
        if time.monotonic() > self.next_time:
            self.write()

    def executed(self, result: TrialResult) -> None:
        self.write()

    def note(self, text: str) -> None:
        """Ignore it: the results contain the notes."""

    def write(self, live: bool = True) -> None:
        """Write the page, and open it the first time; the last page of a run is not `live`."""
        if self.failed or not self.folder.begun:
            return
        begun = time.monotonic()
        try:
            status = LiveStatus(self.status, np.array(self.steps, dtype=float).reshape(-1, 2)) if live else None
            write_run(Source(self.folder, self.task), self.file, status, self._trial)
            if not self.opened:
                self.opened = True
                show(self.file, self.notify)
        except Exception as error:
            self.failed = True
            self.notify(f"The page is no longer updated: {type(error).__name__}: {error}")
        self.next_time = time.monotonic() + max(EVERY, (time.monotonic() - begun) / MOST_SHARE)

    def _trial(self, source: Source, index: int) -> dict[str, Any]:
        """What the page shows of an execution, computed once: a finished trial does not change."""
        if index not in self.trials:
            self.trials[index] = trial_data(source, index)
        return self.trials[index]


def show(file: Path, note: Callable[[str], None]) -> None:
    """Open a page in the browser; without a screen, say where the page is."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")
    if sys.platform.startswith("linux") and not screen:
        note(f"There is no screen to open the report on: it is {file}.")
    elif not webbrowser.open(file.resolve().as_uri()):
        note(f"No browser could be opened: the report is {file}.")
