"""Where a run keeps its results: nowhere, or in a run folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.files import from_arrays, to_arrays
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.header import TaskDescription
from vfpilco.storage.trialfile import NoLog
from vfpilco.tasks.task import Task

T = TypeVar("T")
Arrays = dict[str, np.ndarray]
About = dict[str, Any]


@dataclass(frozen=True)
class Notes:
    """The notes that a file contains, in addition to its arrays."""

    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """Something that a run computes once per trial and keeps as arrays."""

    folder: str
    """The subfolder of its files."""
    encode: Callable[[T], tuple[Arrays, About]]
    decode: Callable[[Arrays, About, dict[str, type]], T]
    """Receives the arrays, what is known about them, and the user's own classes."""
    fits: Callable[[T, TaskDescription], bool] = lambda value, task: True
    """Whether it belongs to a machine like that of the task."""


def _rollout_arrays(rollout: Rollout) -> tuple[Arrays, About]:
    return {name: np.asarray(array) for name, array in rollout._asdict().items()}, {}


def _rollout(arrays: Arrays, about: About, known: dict[str, type]) -> Rollout:
    q, u, cost = (arrays[name] for name in ("q", "u", "cost"))
    sizes = q.ndim == u.ndim == 3 and q.shape[:2] == cost.shape and u.shape[:2] == (len(q) - 1, q.shape[1])
    if not sizes or not min(q.size, u.size) or not all(_are_numbers(array) for array in (q, u, cost)):
        raise ValueError(f"particles of the shapes {q.shape}, {u.shape} and {cost.shape}")
    return Rollout(arrays["q"], arrays["u"], arrays["cost"])  # pyright: ignore[reportArgumentType]


def _are_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.all(np.isfinite(array)))


def _costs(arrays: Arrays, about: About, known: dict[str, type]) -> np.ndarray:
    if arrays["cost"].ndim != 1 or arrays["cost"].dtype.kind != "f":
        raise ValueError(f"costs of the shape {arrays['cost'].shape}")
    return arrays["cost"]


def _rollout_fits(rollout: Rollout, task: TaskDescription) -> bool:
    return (rollout.q.shape[2], rollout.u.shape[2]) == (len(task.positions), len(task.inputs))


def _model_fits(model: Model, task: TaskDescription) -> bool:
    return model.posterior.joints == sum(position.commanded is None for position in task.positions)


MODEL: Artifact[Model] = Artifact("models", to_arrays, from_arrays, _model_fits)
"""The GPs behind the policy of a trial."""
PREDICTION: Artifact[Rollout] = Artifact("predictions", _rollout_arrays, _rollout, _rollout_fits)
"""The particles that predict a trial."""
OPTIMISATION: Artifact[np.ndarray] = Artifact("optimisations", lambda costs: ({"cost": costs}, {}), _costs)
"""The expected cost at every gradient step."""


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
