"""Where a run keeps its results: nowhere, or in a run folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.files import from_arrays, to_arrays
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.trialfile import NoLog
from vfpilco.tasks.task import Task

T = TypeVar("T")
Arrays = dict[str, np.ndarray]
About = dict[str, Any]


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """Something that a run computes once per trial and keeps as arrays."""

    folder: str
    """The subfolder of its files."""
    encode: Callable[[T], tuple[Arrays, About]]
    decode: Callable[[Arrays, About, dict[str, type]], T]
    """Receives the arrays, what is known about them, and the user's own classes."""


def _rollout_arrays(rollout: Rollout) -> tuple[Arrays, About]:
    return {name: np.asarray(array) for name, array in rollout._asdict().items()}, {}


def _rollout(arrays: Arrays, about: About, known: dict[str, type]) -> Rollout:
    return Rollout(arrays["q"], arrays["u"], arrays["cost"])  # pyright: ignore[reportArgumentType]


MODEL: Artifact[Model] = Artifact("models", to_arrays, from_arrays)
"""The GPs behind the policy of a trial."""
PREDICTION: Artifact[Rollout] = Artifact("predictions", _rollout_arrays, _rollout)
"""The particles that predict a trial."""


class Store:
    """Keeps nothing: a run without a folder. `RunFolder` keeps everything."""

    def load(self, artifact: Artifact[T], trial: int) -> tuple[T, list[str]] | None:
        """What was computed for a trial, and the notes made then; None if it was not."""
        return None

    def save(self, artifact: Artifact[T], trial: int, value: T, notes: list[str]) -> None:
        """Keep what was computed for a trial, and the notes made on the way."""

    def load_policy(self, trial: int) -> tuple[LearnedPolicy, list[str]] | None:
        """The policy of a trial, and the notes made during its optimisation; None if there is none yet."""
        return None

    def save_policy(self, trial: int, policy: LearnedPolicy, costs: np.ndarray, notes: list[str]) -> None:
        """Keep the policy of a trial, the cost at every gradient step, and the notes made on the way."""

    def load_checkpoint(self) -> tuple[Arrays, About] | None:
        """Where an interrupted optimisation was; None if there is no checkpoint."""
        return None

    def save_checkpoint(self, arrays: Arrays, trial: int, notes: list[str]) -> None:
        """Keep where the current optimisation is."""

    def remove_checkpoint(self) -> None:
        """The optimisation is finished."""

    def finished_trial(self, index: int, task: Task, trim: Callable[[Trial], Trial]) -> Trial | None:
        """Execution `index`, if it is finished; `trim` removes what is not to be kept of a recorded one."""
        return None

    def open_log(self, index: int, task: Task) -> NoLog:
        """The log that execution `index` is written to, sample by sample."""
        return NoLog()

    def save_trial(self, index: int, trial: Trial, task: Task, log: NoLog | None = None) -> None:
        """Keep a finished execution, and remove its log."""

    def save_sample_times(self, index: int, csv: str) -> None:
        """Keep when every sample of an execution arrived."""

    def add_result(self, result: TrialResult) -> None:
        """Append a line to the results."""

    def add_timing(self, timing: Timing) -> None:
        """Append a line to the timings."""
