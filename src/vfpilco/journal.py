"""The journal of a run: what happened, kept as it happens and told to whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vfpilco import stopping
from vfpilco.controller import LearnedPolicy
from vfpilco.gp import Model
from vfpilco.runfolder import RunFolder
from vfpilco.settings import Settings
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.watch import Noting
from vfpilco.words import count

LITTLE = 0.2
"""A trial of less than this share of its samples is told."""


@dataclass
class Result:
    """What a run has learned so far."""

    task: Task
    settings: Settings
    seed: int
    trials: list[Trial] = field(default_factory=list)
    """Every execution on the plant, explorations first."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The lines of results.jsonl."""
    policy: LearnedPolicy | None = None
    model: Model | None = None

    @property
    def successes(self) -> list[bool]:
        """Whether each policy's trial succeeded, trial 1 first."""
        return [row["success"] for row in self.rows if row["kind"] == "policy"]


class Journal:
    """Writes what happens into the result of a run, and into its folder if it has one."""

    def __init__(self, result: Result, folder: RunFolder | None, watch: Noting) -> None:
        self.task, self.result, self.folder, self.watch = result.task, result, folder, watch

    def restore(self) -> None:
        """Take up what the folder holds."""
        assert self.folder is not None
        self.folder.check()
        result = self.result
        result.rows = self.folder.results()
        result.trials = [self.folder.trial(i, len(self.task.positions)) for i in range(len(result.rows))]
        for row in result.rows:
            self.watch.executed(row)
        last = len(result.successes)
        if last:
            result.model = Model.from_arrays(*self.folder.arrays("models", last))
            result.policy = self.folder.policy(last)
            if not self.folder.has("policy.safetensors"):
                self.folder.add_policy(last, result.policy)

    def done_once(
        self, kind: str, trial: int, phase: str, work: Callable[[], tuple[dict[str, np.ndarray], dict[str, Any]]]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays that `work` gives, or gave before the run was stopped, with the notes that were made then."""
        if self.folder is not None and self.folder.has(f"{kind}/{trial:03d}.safetensors"):
            arrays, about = self.folder.arrays(kind, trial)
            self.watch.notes += about["notes"]
            return arrays, about
        said = len(self.watch.notes)
        with self.timed(trial, phase):
            arrays, about = work()
        if self.folder is not None:
            self.folder.add_arrays(kind, trial, arrays, **about, notes=self.watch.notes[said:])
        return arrays, about

    def looked_at(self, executed: Trial) -> Trial:
        """An execution, with notes on what a person would not expect of it."""
        strange = self.task.far_from_start(executed.q[0])
        if strange:
            self.watch.note(f"The trial started with {strange}: mend the task's start, or the machine's reset.")
        if executed.ended:
            self.watch.other.note(f"The trial was ended after {executed.duration:.3g} s: {executed.ended}.")
        if executed.steps < LITTLE * self.task.horizon:
            self.watch.note(
                f"The trial has only {count(executed.steps, 'sample')} of {self.task.horizon}, little to learn from: "
                "if this goes on, drive more gently (--gentle, --slew), or let trials end later."
            )
        return executed

    def record(self, trial: Trial, row: dict[str, Any]) -> None:
        """Keep an execution and its line in the results, and tell about it."""
        experience = sum((t.duration for t in self.result.trials), 0.0)
        index = len(self.result.trials)
        self.result.trials.append(trial)
        row = {
            "file": f"trials/{index:03d}.csv",
            **row,
            "experience_s": experience,
            **self.task.judge(trial.judged),
        }
        if trial.steps < self.task.horizon:
            row["ended_s"] = trial.duration
        predicted = row.get("predicted_cost")
        if predicted and not predicted["low"] <= row["cost"] <= predicted["high"]:
            self.watch.note(
                f"Trial {row['trial']}: the real cost {row['cost']:.1f} is outside the predicted 95 % band "
                f"{predicted['low']:.1f} to {predicted['high']:.1f}; the model is not yet right where the policy goes."
            )
        row["notes"], self.watch.notes = self.watch.notes, []
        self.result.rows.append(row)
        if self.folder is not None:
            self.folder.add_result(row)
        self.watch.executed(row)

    @contextmanager
    def timed(self, trial: int, phase: str) -> Iterator[None]:
        """Note how long a phase took, in timings.jsonl alone."""
        stopping.heed()
        begin = time.perf_counter()
        yield
        if self.folder is not None:
            self.folder.add_timing({"trial": trial, "phase": phase, "seconds": time.perf_counter() - begin})
