"""Where a run without a folder keeps its results: in memory, until someone wants them as files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import Artifact, Store
from vfpilco.storage.trialfile import NoLog
from vfpilco.tasks.task import Task

T = TypeVar("T")


class Memory(Store):
    """Keeps what a run folder would hold; `write` repeats it, in the same order, in a folder."""

    def __init__(self) -> None:
        self.actions: list[Callable[[RunFolder], None]] = []
        self.kept: dict[tuple[str, int], tuple[Any, list[str]]] = {}

    def write(self, folder: RunFolder) -> None:
        """Write everything to a folder that has its header already."""
        for action in self.actions:
            action(folder)

    def load(self, artifact: Artifact[T], trial: int) -> tuple[T, list[str]] | None:
        """What was computed for a trial, and the notes made then; None if it was not."""
        return self.kept.get((artifact.folder, trial))

    def save(self, artifact: Artifact[T], trial: int, value: T, notes: list[str]) -> None:
        """Keep what was computed for a trial, and the notes made on the way."""
        self.kept[artifact.folder, trial] = value, notes
        self.actions.append(lambda folder: folder.save(artifact, trial, value, notes))

    def save_policy(self, trial: int, policy: LearnedPolicy, costs: np.ndarray, notes: list[str]) -> None:
        """Keep the policy of a trial, the cost at every gradient step, and the notes made on the way."""
        self.actions.append(lambda folder: folder.save_policy(trial, policy, costs, notes))

    def save_trial(self, index: int, trial: Trial, task: Task, log: NoLog | None = None) -> None:
        """Keep a finished execution."""
        self.actions.append(lambda folder: folder.save_trial(index, trial, task))

    def save_sample_times(self, index: int, csv: str) -> None:
        """Keep when every sample of an execution arrived."""
        self.actions.append(lambda folder: folder.save_sample_times(index, csv))

    def add_result(self, result: TrialResult) -> None:
        """Append a line to the results."""
        self.actions.append(lambda folder: folder.add_result(result))

    def add_timing(self, timing: Timing) -> None:
        """Append a line to the timings."""
        self.actions.append(lambda folder: folder.add_timing(timing))
