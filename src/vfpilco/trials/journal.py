"""The journal of a run: what happens is stored as it happens, and reported to the watcher."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from vfpilco.common import interrupts
from vfpilco.common.errors import describe_exception
from vfpilco.common.text import count
from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import NoteKeeper
from vfpilco.recordings.trials import faults, jumps
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.scenes import SCENES, draw
from vfpilco.storage.store import MODEL, Artifact, Store
from vfpilco.trials.comparison import Comparison
from vfpilco.trials.exploring import what_follows
from vfpilco.trials.result import RunResult

T = TypeVar("T")
SHORT = 0.2
"""A trial with less than this fraction of its samples is reported."""


class Journal:
    """Records what happens in the result of a run and in its store."""

    def __init__(self, result: RunResult, store: Store, watch: NoteKeeper) -> None:
        self.task, self.result, self.store, self.watch = result.task, result, store, watch

    def restore(self, folder: RunFolder) -> None:
        """Continue from what the folder holds."""
        folder.check()
        result = self.result
        result.rows = folder.results()
        result.trials = [folder.trial(i, len(self.task.machine.positions)) for i in range(len(result.rows))]
        for row, trial in zip(result.rows, result.trials, strict=True):
            self.task.machine.check_plausible(trial.q, folder.path / row.file)
            self.watch.executed(row)
        last = len(result.successes)
        if last:
            result.model, _ = folder.artifact(MODEL, last)
            result.policy = folder.policy(last)
            result.best = folder.policy(result.costs.index(min(result.costs)) + 1)
            folder.restore_last_policy()

    def once(self, artifact: Artifact[T], trial: int, phase: str, work: Callable[[], T]) -> T:
        """What `work` computes, or computed before the run was interrupted, with the notes made then."""
        found = self.store.load(artifact, trial)
        if found is not None:
            value, notes = found
            self.watch.notes += notes
            return value
        before = len(self.watch.notes)
        with self.timed(trial, phase):
            value = work()
        self.store.save(artifact, trial, value, self.watch.notes[before:])
        return value

    def examined(self, executed: Trial, *, exploring: bool = False) -> Trial:
        """An execution, after notes on what a person would not expect of it.

        `exploring` says that it is an exploration of the plant: these are repeated until there are enough data.
        """
        unexpected = self.task.far_from_start(executed.q[0])
        if unexpected:
            self.watch.note(f"The trial started with {unexpected}: correct the task's start, or the machine's reset.")
        if executed.ended:
            self.watch.other.note(f"The trial ended after {executed.duration:.3g} s: {executed.ended}.")
        if executed.steps < SHORT * self.task.horizon and not executed.reached:
            samples = f"{count(executed.steps, 'sample')} of {self.task.horizon}"
            if exploring:
                follows = what_follows(self.task, [*self.result.explored, executed])
                self.watch.note(f"The exploration has only {samples}{follows}.")
            else:
                self.watch.note(
                    f"The trial has only {samples}, too few to learn much: if this happens again, use smaller inputs "
                    "(--gentle, --slew), or let trials end later."
                )
        for fault in (faults if exploring else jumps)(executed, self.task):
            self.watch.note(f"CHECK THE MEASUREMENTS: {fault}")
        return executed

    def record(
        self,
        trial: Trial,
        kind: Literal["explore", "policy"],
        number: int | None = None,
        compared: Comparison | None = None,
        predicted: Rollout | None = None,
    ) -> None:
        """Keep an execution and its line in the results, and report it."""
        index, experience = len(self.result.trials), sum((t.duration for t in self.result.trials), 0.0)
        self.result.trials.append(trial)
        self.draw(index, trial, predicted)
        evaluated = self.task.evaluate(trial.evaluated, trial.reached)
        row = TrialResult(
            **vars(evaluated),
            kind=kind,
            file=f"trials/{index:03d}.csv",
            trial=number,
            experience_s=experience,
            **trial.early(self.task.horizon),
            **({} if compared is None else vars(compared)),
        )
        if kind == "policy" and row.ended_s is not None and not row.success:
            self.watch.note(
                f"Trial {row.trial} ended early, after {row.ended_s:.3g} s: its success was not tested and counts as "
                "none."
            )
        row = dataclasses.replace(row, notes=self.watch.take())
        self.result.rows.append(row)
        if kind == "policy" and row.cost <= min(self.result.costs):
            self.result.best = self.result.policy
        self.store.add_result(row)
        self.watch.executed(row)

    def draw(self, index: int, trial: Trial, predicted: Rollout | None) -> None:
        """Keep how the machine moved if only the task can draw it: a report must not need the task."""
        drawing = self.task.machine.drawing
        if drawing.scene is None or drawing.name is not None:
            return
        try:
            self.store.save(SCENES, index, draw(drawing.scene, trial, predicted), [])
        except OSError:
            raise
        except Exception as error:
            self.watch.note(f"The machine could not be drawn ({describe_exception(error)}): correct its drawing.")

    @contextmanager
    def timed(self, trial: int, phase: str) -> Iterator[None]:
        """Record how long a phase took."""
        interrupts.check()
        begin = time.perf_counter()
        yield
        self.store.add_timing(Timing(trial, phase, time.perf_counter() - begin))
