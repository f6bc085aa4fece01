"""Following a run: what happens is reported to a watcher."""

from __future__ import annotations

import logging

from vfpilco.data.results import EpisodeResult, Forecast, TrialResult


class Watcher:
    """Receives everything that happens in a run. Override the methods you need.

    Example:
        >>> class Costs(Watcher):
        ...     def executed(self, result):
        ...         print(result.cost)
    """

    def phase(self, trial: int, name: str) -> None:
        """A phase of a trial begins; trial 0 is the exploration."""

    def step(self, done: int, total: int, cost: float) -> None:
        """Gradient steps were made or skipped; `cost` is the particles' latest mean cost."""

    def predicted(self, trial: int, forecast: Forecast) -> None:
        """A policy is about to be executed; this is what is predicted."""

    def accepts(self, trial: int, forecast: Forecast) -> bool:
        """The predicted risk of a policy is above `max_risk`: whether it may be executed nevertheless."""
        return False

    def ready(self, trial: int) -> None:
        """The plant is about to be reset and run: return when that is allowed."""

    def executed(self, result: TrialResult) -> None:
        """The plant was run."""

    def evaluated(self, result: EpisodeResult) -> None:
        """An episode of an evaluation was run."""

    def note(self, text: str) -> None:
        """Something a person should know; logged as a warning unless overridden."""
        logging.getLogger("vfpilco").warning(text)


class NoteKeeper(Watcher):
    """Forwards everything to another watcher and keeps the notes."""

    def __init__(self, other: Watcher) -> None:
        self.phase, self.step, self.executed, self.evaluated = other.phase, other.step, other.executed, other.evaluated
        self.ready, self.predicted, self.accepts, self.other = other.ready, other.predicted, other.accepts, other
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.other.note(text)

    def take(self) -> list[str]:
        """The notes so far, which are then forgotten."""
        notes, self.notes = self.notes, []
        return notes


class Watchers(Watcher):
    """Forwards everything to several watchers, in order."""

    def __init__(self, *others: Watcher) -> None:
        self.others = others

    def phase(self, trial: int, name: str) -> None:
        for other in self.others:
            other.phase(trial, name)

    def step(self, done: int, total: int, cost: float) -> None:
        for other in self.others:
            other.step(done, total, cost)

    def predicted(self, trial: int, forecast: Forecast) -> None:
        for other in self.others:
            other.predicted(trial, forecast)

    def accepts(self, trial: int, forecast: Forecast) -> bool:
        return any(other.accepts(trial, forecast) for other in self.others)

    def ready(self, trial: int) -> None:
        for other in self.others:
            other.ready(trial)

    def executed(self, result: TrialResult) -> None:
        for other in self.others:
            other.executed(result)

    def evaluated(self, result: EpisodeResult) -> None:
        for other in self.others:
            other.evaluated(result)

    def note(self, text: str) -> None:
        for other in self.others:
            other.note(text)
