"""The page of a run that is learning: written anew while it goes on, shown in a browser that looks again."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.report.packing import pack
from vfpilco.report.run import put, run_data
from vfpilco.report.source import Source
from vfpilco.report.trials import trial_data
from vfpilco.runfolder import RunFolder
from vfpilco.task import Task
from vfpilco.watch import Watcher

EVERY = 4.0
"""Seconds between two pages while a policy is being improved."""
MOST_SHARE = 0.05
"""Of the time, spent on pages."""


class LivePage(Watcher):
    """Keeps `report.html` of a run up to date; what goes wrong is noted once and does not stop the run."""

    def __init__(self, task: Task, out: Path, note: Callable[[str], None]) -> None:
        self.task, self.folder, self.file, self.tell = task, RunFolder(out), out / "report.html", note
        self.trials: dict[int, dict[str, Any]] = {}
        self.where, self.steps, self.opened, self.failed = "Starting.", [], False, False
        self.next = 0.0

    def phase(self, trial: int, name: str) -> None:
        self.where = f"Trial {trial}: {name}." if trial else f"Before the first trial: {name}."
        self.steps: list[tuple[int, float]] = []
        self.write()

    def step(self, done: int, total: int, cost: float) -> None:
        self.steps.append((done, cost))
        if time.monotonic() > self.next:
            self.write()

    def executed(self, row: dict[str, Any]) -> None:
        self.write()

    def note(self, text: str) -> None:
        """Notes stand in the rows."""

    def write(self, live: bool = True) -> None:
        """Write the page as things stand, and open it if it was not open yet; the last one is not `live`."""
        if self.failed or not self.folder.has("run.json"):
            return
        begun = time.monotonic()
        try:
            put(run_data(Source(self.folder, self.task), self._live() if live else None, self._trial), self.file)
            if not self.opened:
                self.opened = True
                show(self.file, self.tell)
        except Exception as error:
            self.failed = True
            self.tell(f"The page is not kept up to date: {type(error).__name__}: {error}")
        self.next = time.monotonic() + max(EVERY, (time.monotonic() - begun) / MOST_SHARE)

    def _live(self) -> dict[str, Any]:
        """What the run is doing: in words, and the expected cost since the policy is being improved."""
        steps = np.array(self.steps, dtype=float).reshape(-1, 2)
        curve = None if len(steps) < 2 else {"step": pack(steps[:, 0]), "cost": pack(steps[:, 1])}
        return {"text": self.where, "curve": curve}

    def _trial(self, source: Source, index: int) -> dict[str, Any]:
        """What is drawn of an execution, made once: it does not change any more."""
        if index not in self.trials:
            self.trials[index] = trial_data(source, index)
        return self.trials[index]


def show(file: Path, note: Callable[[str], None]) -> None:
    """Open a page in the browser; where there is no screen, say where it is."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")
    if sys.platform.startswith("linux") and not screen:
        note(f"There is no screen to open the report on: it is {file}.")
    elif not webbrowser.open(file.resolve().as_uri()):
        note(f"No browser could be opened: the report is {file}.")
