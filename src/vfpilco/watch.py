"""Being told what a run is doing."""

from __future__ import annotations

import logging
from typing import Any


class Watcher:
    """Hears of everything that happens in a run. Override what you want to know."""

    def phase(self, trial: int, name: str) -> None:
        """A phase of a trial begins (trial 0 is the exploration)."""

    def step(self, done: int, total: int, cost: float) -> None:
        """Gradient steps have been made or saved; `cost` is the particles' latest mean."""

    def ready(self, trial: int) -> None:
        """The plant is about to be reset and run: return when it may be."""

    def executed(self, row: dict[str, Any]) -> None:
        """The plant was run; `row` is the line of results.jsonl."""

    def note(self, text: str) -> None:
        """Something a person should know: logged as a warning unless overridden."""
        logging.getLogger("vfpilco").warning(text)


class Noting(Watcher):
    """Passes everything on to another watcher and keeps the notes."""

    def __init__(self, other: Watcher) -> None:
        self.phase, self.step, self.executed, self.other = other.phase, other.step, other.executed, other
        self.ready = other.ready
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.other.note(text)


class Several(Watcher):
    """Passes everything on to several watchers, in order."""

    def __init__(self, *others: Watcher) -> None:
        self.others = others

    def phase(self, trial: int, name: str) -> None:
        for other in self.others:
            other.phase(trial, name)

    def step(self, done: int, total: int, cost: float) -> None:
        for other in self.others:
            other.step(done, total, cost)

    def ready(self, trial: int) -> None:
        for other in self.others:
            other.ready(trial)

    def executed(self, row: dict[str, Any]) -> None:
        for other in self.others:
            other.executed(row)

    def note(self, text: str) -> None:
        for other in self.others:
            other.note(text)
