"""What a notebook shows while a run learns: a bar, a line for every trial, and notes."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from html import escape
from typing import Any

from vfpilco.common import interrupts
from vfpilco.common.compiled import announced
from vfpilco.common.text import printable, short
from vfpilco.data.results import CostBand, Forecast, TrialResult
from vfpilco.data.risk import percent
from vfpilco.data.watcher import Watcher
from vfpilco.interactive.terminal import Pace, where

EVERY = 0.3
"""Seconds between two updates, at least."""


class NotebookDisplay(Watcher):
    """Updates one output of the cell; it needs IPython, which every notebook has, and nothing else.

    Args:
        trials: How many trials the run has.
        show: Shows HTML and returns a handle to update it; IPython's `display` if not given.
    """

    def __init__(self, trials: int, show: Any = None) -> None:
        if show is None:
            from IPython.display import display as show  # pyright: ignore[reportMissingImports]
        self.trials, self.trial, self.pace = trials, 0, Pace()
        self.status, self.finished, self.lines = "starting", 0.0, list[str]()
        self.next_time, self.done, self.listening = 0.0, False, ExitStack()
        self.compiling = False
        self.announced: int | None = None
        """The trial whose prediction was shown."""
        self.handle = show(self, display_id=True)

    def __enter__(self) -> NotebookDisplay:
        self.listening.enter_context(announced(self._compiling))
        self.listening.enter_context(interrupts.announced(self._stopping))
        return self

    def __exit__(self, *_: object) -> None:
        self.listening.close()
        self.done = True
        self._update()

    def _compiling(self, active: bool) -> None:
        self.compiling = active
        self._update()

    def _stopping(self) -> None:
        self.status = "stopping"
        self._update()

    def phase(self, trial: int, name: str) -> None:
        self.trial, self.status = trial, f"{where(trial, self.trials)}: {name}"
        self._update()

    def step(self, done: int, total: int, cost: float) -> None:
        self.finished = self.trial - 1 + done / total
        left = self.pace.left(self.finished, self.trials)
        self.status = f"{where(self.trial, self.trials)}: optimising the policy, cost {short(cost)} {left}"
        if time.monotonic() > self.next_time:
            self._update()

    def predicted(self, trial: int, forecast: Forecast) -> None:
        self.announced, risk = trial, forecast.risk
        words = f"{_predicted(forecast.predicted_cost, forecast.success_chance)}{', ' * bool(risk.words)}{risk.words}"
        self.lines.append(printable(f"trial {trial}: {words}"))
        if risk.reach:
            self.lines.append(printable(f"at most {risk.reach}"))
        self._update()

    def executed(self, result: TrialResult) -> None:
        self.finished = float(result.trial or 0)
        name = "exploration" if result.trial is None else f"trial {result.trial}"
        band, shown = result.predicted_cost, result.trial == self.announced
        expected = "" if band is None or shown else f", {_predicted(band, result.success_chance)}"
        self.lines.append(f"{name}: cost {short(result.cost)}{expected}{_outcome(result)}")
        if result.explanation is not None:
            self.lines.append(printable(result.explanation.text))
        self._update()

    def note(self, text: str) -> None:
        self.lines.append(f"note: {printable(text)}")
        self._update()

    def _update(self) -> None:
        self.next_time = time.monotonic() + EVERY
        if self.handle is not None:
            self.handle.update(self)

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in self.lines)
        if self.done:
            return lines
        bar = f'<progress max="{self.trials}" value="{max(self.finished, 0):.3f}"></progress>'
        return f"{lines}<div>{bar} {escape(self._now)}</div>"

    def __repr__(self) -> str:
        return "\n".join(self.lines if self.done else [*self.lines, self._now])

    @property
    def _now(self) -> str:
        return f"{self.status} (compiling)" if self.compiling else self.status


def _predicted(band: CostBand, chance: float | None) -> str:
    success = "" if chance is None else f", success {percent(chance)}"
    return f"predicted {short(band.mean)} ({short(band.low)} to {short(band.high)}){success}"


def _outcome(result: TrialResult) -> str:
    if result.success:
        return ", success"
    return "" if result.ended_s is None else f", ended after {result.ended_s:.1f} s"


def in_notebook() -> bool:
    """Whether this program runs in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
