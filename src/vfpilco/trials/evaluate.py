"""Running a learned policy on the plant from fresh seeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vfpilco.common.checks import check_integer
from vfpilco.common.configuration import configure
from vfpilco.common.text import short
from vfpilco.data.results import EpisodeResult
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import Watcher
from vfpilco.machines.load import as_task
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import Conditions, connected, execute
from vfpilco.trials.punctuality import timekeeper


@dataclass(frozen=True)
class EvaluationSummary:
    """An evaluation in a few numbers."""

    episodes: int
    success_rate: float
    cost_mean: float
    cost_std: float
    cost_worst: float
    measures: dict[str, float]
    """Means of the task's measures, by name."""


class Evaluation(NamedTuple):
    """The episodes of an evaluation."""

    results: list[EpisodeResult]
    trials: list[Trial]

    @property
    def costs(self) -> list[float]:
        """The cost of every episode."""
        return [result.cost for result in self.results]

    @property
    def successes(self) -> list[bool]:
        """Whether every episode succeeded."""
        return [result.success for result in self.results]

    @property
    def measures(self) -> dict[str, list[float]]:
        """The task's measures of every episode, by name."""
        names = self.results[0].measures if self.results else {}
        return {name: [result.measures[name] for result in self.results] for name in names}

    @property
    def ends(self) -> Counter[str]:
        """Why episodes ended early, and how many did."""
        return Counter(result.ended for result in self.results if result.ended)

    def __repr__(self) -> str:
        few = self.summary()
        return (
            f"Evaluation({few.episodes} episodes, {few.success_rate:.0%} success, "
            f"cost {short(few.cost_mean)} ± {few.cost_std:.2g})"
        )

    def summary(self) -> EvaluationSummary:
        """Success rate and cost in a few numbers."""
        costs = np.array(self.costs)
        return EvaluationSummary(
            episodes=len(costs),
            success_rate=float(np.mean(self.successes)),
            cost_mean=float(costs.mean()),
            cost_std=float(costs.std()),
            cost_worst=float(costs.max()),
            measures={name: float(np.mean(values)) for name, values in self.measures.items()},
        )


def evaluate(
    task: Task | str | Path, policy: LearnedPolicy, episodes: int = 20, seed: int = 0, watch: Watcher | None = None
) -> Evaluation:
    """Run a learned policy on the plant several times, with seeds that no learning run uses.

    Args:
        task: The task that it was learned for, its name or its file.
        policy: The policy.
        episodes: How many times to run it.
        seed: Fixes the episodes.
        watch: Is asked before every episode and informed about it afterwards.

    Returns:
        Costs, successes and trials, episode by episode.

    Raises:
        PlantError: If the plant fails.

    Example:
        >>> vfpilco.evaluate(task, result.policy, episodes=20).summary().success_rate  # doctest: +SKIP
        1.0
    """
    configure()
    task = as_task(task)
    check_integer("episodes", episodes, 1)
    check_integer("seed", seed, 0)
    results, trials, watch = [], [], watch or Watcher()
    with connected(task) as plant:
        for i, child in enumerate(np.random.SeedSequence([seed, 2_000_000]).spawn(episodes), start=1):
            watch.ready(i)
            policy.reset()
            conditions = Conditions(policy.state.full_state, policy.slew, timekeeper(task))
            trial = execute(task, plant, policy, int(child.generate_state(1)[0]), conditions)
            done = task.evaluate(trial.evaluated, trial.reached)
            result = EpisodeResult(**vars(done), episode=i, **trial.early(task.horizon))
            trials.append(trial)
            results.append(result)
            watch.evaluated(result)
    return Evaluation(results, trials)
