"""What a run has learned so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vfpilco.common.errors import UserError
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.storage.store import Store
from vfpilco.tasks.task import Task
from vfpilco.trials import summary
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

STUCK = 0.95
"""A trial without success that costs more than this fraction of the best one before it is no progress."""
PROMISING, DOUBTED = 0.75, 0.5
"""A policy that is expected to cost more than this fraction of the best trial is no clear improvement; the second one
is for a run that is stuck, whose predictions are doubted."""


@dataclass(repr=False)
class RunResult:
    """What a run has learned so far; it prints as a table of its trials."""

    plan: Plan
    """Task, settings, seed and number of trials."""
    trials: list[Trial] = field(default_factory=list)
    """Every execution on the plant, explorations first."""
    rows: list[TrialResult] = field(default_factory=list)
    """The lines of results.jsonl, one per execution."""
    policy: LearnedPolicy | None = None
    """The last policy."""
    model: Model | None = None
    """The model behind it."""
    best: LearnedPolicy | None = None
    """The policy of the trial with the lowest cost so far."""
    store: Store = field(default_factory=Store, kw_only=True)
    """Where everything else is kept: a run folder, or memory."""

    @property
    def task(self) -> Task:
        """The task."""
        return self.plan.task

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.plan.settings

    @property
    def seed(self) -> int:
        """The seed."""
        return self.plan.seed

    @property
    def successes(self) -> list[bool]:
        """Whether each policy's trial succeeded, trial 1 first."""
        return [row.success for row in self.rows if row.kind == "policy"]

    @property
    def costs(self) -> list[float]:
        """The real cost of each policy's trial, trial 1 first."""
        return [row.cost for row in self.rows if row.kind == "policy"]

    @property
    def explored(self) -> list[Trial]:
        """The trials without a policy."""
        return [trial for trial, row in zip(self.trials, self.rows, strict=False) if row.kind == "explore"]

    @property
    def lengths(self) -> list[int]:
        """How many samples the explorations have together, and each policy's trial after them."""
        tried = [trial.steps for trial, row in zip(self.trials, self.rows, strict=False) if row.kind == "policy"]
        return [sum(trial.steps for trial in self.explored), *tried]

    @property
    def typical_cost(self) -> float:
        """What a sample of the explorations costs, to a power of two: what is compiled depends on it."""
        costs = [row.cost / self.task.horizon for row in self.rows if row.kind == "explore"]
        mean = sum(costs) / len(costs) if costs else 0.0
        return 2.0 ** round(math.log2(mean)) if 0 < mean < math.inf else 1.0

    @property
    def stuck(self) -> bool:
        """Whether there was no success yet and the last trial was hardly better than those before it."""
        return is_stuck(self.costs, self.successes)

    @property
    def to_beat(self) -> float:
        """The cost that the next policy should be expected to stay below, if it is to be an improvement.

        It is infinite before the first complete trial and after a success.
        """
        complete = [row.cost for row in self.rows if row.kind == "policy" and row.ended_s is None]
        if any(self.successes) or not complete:
            return math.inf
        return (DOUBTED if self.stuck else PROMISING) * min(complete)

    def to_dataframe(self) -> Any:
        """The trials as a pandas DataFrame, a row each; the task's measures are columns of their own.

        Raises:
            UserError: If pandas is not installed.
        """
        try:
            import pandas  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise UserError("A DataFrame needs pandas: pip install pandas.") from error
        return pandas.DataFrame([summary.record(row) for row in self.rows])

    def __repr__(self) -> str:
        return summary.text(self.task.name, self.seed, self.rows)

    def _repr_html_(self) -> str:
        return summary.html(self.task.name, self.seed, self.rows)


def is_stuck(costs: Sequence[float], successes: Sequence[bool]) -> bool:
    """Whether trials with these costs make no progress."""
    *earlier, last = costs or [0.0]
    return bool(earlier) and not any(successes) and last > STUCK * min(earlier)
