"""The plants as Gymnasium environments: `gymnasium.make("vfpilco.envs:vfpilco/cartpole-v0")`.

| | |
|---|---|
| observation | the measured positions, in the order and units of the machine's `positions` |
| action | the inputs, between minus and plus their limits |
| reward | minus the task's cost of the sample reached |
| start | as the plant starts |
| end | terminated where the task ends a trial early, truncated after its horizon |
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from vfpilco.common.configuration import configure
from vfpilco.data.trial import unwrap
from vfpilco.machines.load import load, names
from vfpilco.tasks.plant import Closeable, EndsEarly, KnowsPositions
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import connect


class TaskEnv(gymnasium.Env):
    """The plant of a task, a built-in one by its name."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, task: Task | str) -> None:
        configure()
        self.task = load(task) if isinstance(task, str) else task
        self.plant, machine = connect(self.task), self.task.machine
        most = np.finfo(np.float64).max  # angles are unwrapped: nothing bounds them
        self.observation_space = gymnasium.spaces.Box(-most, most, (len(machine.positions),), np.float64)
        self.action_space = gymnasium.spaces.Box(-machine.limits, machine.limits, dtype=np.float64)
        self.q, self.samples = np.zeros(len(machine.positions)), 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed
        self.q, self.samples = np.asarray(self.plant.reset(drawn), dtype=np.float64), 0
        return self.q, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        machine = self.task.machine
        u = np.clip(np.asarray(action, dtype=float), -machine.limits, machine.limits)
        self.q = unwrap(np.asarray(self.plant.step(u), dtype=np.float64), self.q, machine.angles)
        self.samples += 1
        q = self.plant.true_positions if isinstance(self.plant, KnowsPositions) else self.q
        against = () if self.task.reference is None else (self.task.reference[self.samples],)
        reward = -float(self.task.cost(np.asarray(q), *against))
        by_plant = isinstance(self.plant, EndsEarly) and bool(self.plant.terminated)
        terminated = by_plant or self.task.ended(self.q) is not None
        return self.q, reward, terminated, self.samples >= self.task.horizon, {}

    def close(self) -> None:
        self.plant.stop()
        if isinstance(self.plant, Closeable):
            self.plant.close()


for _name in names():
    gymnasium.register(f"vfpilco/{_name}-v0", entry_point="vfpilco.envs:TaskEnv", kwargs={"task": _name})
