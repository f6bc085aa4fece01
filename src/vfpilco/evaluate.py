"""Running a learned policy on the plant from fresh seeds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vfpilco.controller import LearnedPolicy
from vfpilco.execute import connected, execute
from vfpilco.settings import whole
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.watch import Watcher


class Evaluation(NamedTuple):
    """Costs and successes, episode by episode."""

    costs: list[float]
    successes: list[bool]
    measures: dict[str, list[float]]
    """What else the task measures, by name."""
    trials: list[Trial]

    def summary(self) -> dict[str, Any]:
        """Success rate and cost in a few numbers."""
        costs = np.array(self.costs)
        return {
            "episodes": len(costs),
            "success_rate": float(np.mean(self.successes)),
            "cost_mean": float(costs.mean()),
            "cost_std": float(costs.std()),
            "cost_worst": float(costs.max()),
            "measures": {name: float(np.mean(values)) for name, values in self.measures.items()},
        }


def evaluate(
    task: Task, policy: LearnedPolicy, episodes: int = 20, seed: int = 0, watch: Watcher | None = None
) -> Evaluation:
    """Run `policy` on the plant `episodes` times, with seeds that no learning run uses.

    `watch` is asked before every episode and told of it afterwards, as `{"episode": 1, "cost": …}`.
    """
    whole("episodes", episodes, 1)
    whole("seed", seed, 0)
    costs, successes, trials = [], [], []
    measures: dict[str, list[float]] = {measure.name: [] for measure in task.measures}
    watch, full_state = watch or Watcher(), policy.representation.full_state
    with connected(task) as plant:
        for i, child in enumerate(np.random.SeedSequence([seed, 2_000_000]).spawn(episodes), start=1):
            watch.ready(i)
            policy.reset()
            how: dict[str, Any] = {"full_state": full_state, "punctuality": task.timekeeper()}
            trial = execute(task, plant, policy, int(child.generate_state(1)[0]), **how)
            trials.append(trial)
            judged = task.judge(trial.judged)
            costs.append(judged["cost"])
            successes.append(judged["success"])
            for name, values in measures.items():
                values.append(judged["measures"][name])
            ended = {"ended_s": trial.duration} if trial.steps < task.horizon else {}
            watch.executed({"episode": i, **judged, **ended})
    return Evaluation(costs, successes, measures, trials)
