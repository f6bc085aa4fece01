"""The plants as Gymnasium environments: `gymnasium.make("vfpilco.envs:vfpilco/cartpole-v0")`.

| | |
|---|---|
| observation | the measured positions, in the order and units of the task's `positions` |
| action | the inputs, between minus and plus their limits |
| reward | minus the task's cost of the sample reached |
| start | as the plant starts |
| end | terminated where the task says that a trial is over, truncated after its horizon |
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from vfpilco import tasks
from vfpilco.execute import connect
from vfpilco.task import Task
from vfpilco.trial import unwrap


class TaskEnv(gymnasium.Env):
    """The plant of a task, a built-in one by its name."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, task: Task | str) -> None:
        self.task = tasks.load(task) if isinstance(task, str) else task
        self.plant = connect(self.task)
        most = np.finfo(np.float64).max  # angles are followed by whole turns: nothing bounds them
        self.observation_space = gymnasium.spaces.Box(-most, most, (len(self.task.positions),), np.float64)
        self.action_space = gymnasium.spaces.Box(-self.task.limits, self.task.limits, dtype=np.float64)
        self.q, self.samples = np.zeros(len(self.task.positions)), 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed
        self.q, self.samples = np.asarray(self.plant.reset(drawn), dtype=np.float64), 0
        return self.q, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        u = np.clip(np.asarray(action, dtype=float), -self.task.limits, self.task.limits)
        self.q = unwrap(np.asarray(self.plant.step(u), dtype=np.float64), self.q, self.task.angles)
        self.samples += 1
        judged = getattr(self.plant, "true_positions", self.q)
        against = () if self.task.reference is None else (self.task.reference[self.samples],)
        reward = -float(self.task.cost(np.asarray(judged), *against))
        over = self.task.over(self.q) is not None or bool(getattr(self.plant, "over", False))
        return self.q, reward, over, self.samples >= self.task.horizon, {}

    def close(self) -> None:
        self.plant.stop()
        if hasattr(self.plant, "close"):
            self.plant.close()  # pyright: ignore[reportAttributeAccessIssue]


for _name in tasks.names():
    gymnasium.register(f"vfpilco/{_name}-v0", entry_point="vfpilco.envs:TaskEnv", kwargs={"task": _name})
