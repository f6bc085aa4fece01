"""Running a learned policy on the plant from fresh seeds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vfpilco.controller import LearnedPolicy
from vfpilco.execute import connected, execute
from vfpilco.settings import whole
from vfpilco.task import Task
from vfpilco.trial import Trial


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


def evaluate(task: Task, policy: LearnedPolicy, episodes: int = 20, seed: int = 0) -> Evaluation:
    """Run `policy` on the plant `episodes` times, with seeds that no learning run uses."""
    whole("episodes", episodes, 1)
    whole("seed", seed, 0)
    costs, successes, trials = [], [], []
    measures: dict[str, list[float]] = {measure.name: [] for measure in task.measures}
    with connected(task) as plant:
        for child in np.random.SeedSequence([seed, 2_000_000]).spawn(episodes):
            policy.reset()
            full_state = policy.representation.full_state
            trial = execute(task, plant, policy, int(child.generate_state(1)[0]), full_state=full_state)
            trials.append(trial)
            judged = task.judge(trial.judged)
            costs.append(judged["cost"])
            successes.append(judged["success"])
            for name, values in measures.items():
                values.append(judged["measures"][name])
    return Evaluation(costs, successes, measures, trials)
