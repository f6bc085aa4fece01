"""What a run has learned so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.tasks.task import Task
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings


@dataclass
class Result:
    """What a run has learned so far.

    Example:
        >>> import vfpilco
        >>> result = vfpilco.learn(vfpilco.task("cartpole"), seed=0)  # doctest: +SKIP
        >>> result.successes  # doctest: +SKIP
        [False, False, True, True, True]
    """

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
    def explored(self) -> list[Trial]:
        """The trials without a policy."""
        return [trial for trial, row in zip(self.trials, self.rows, strict=False) if row.kind == "explore"]
