"""A Gymnasium environment of this package whose observations are windows."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from vfpilco.studies.alternatives.observations import Observations


class Windowed(gymnasium.Wrapper):
    """An environment of a built-in task with a window of positions and inputs as its observation."""

    def __init__(self, task: str) -> None:
        super().__init__(gymnasium.make(f"vfpilco.envs:vfpilco/{task}-v0"))
        self.observations = Observations(self.env.unwrapped.task.machine)  # pyright: ignore
        most = float(np.finfo(np.float32).max)
        self.observation_space = gymnasium.spaces.Box(-most, most, (self.observations.size,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begin a trial."""
        q, info = self.env.reset(seed=seed, options=options)
        return self.observations.reset(q), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict]:
        """Apply inputs for one sample."""
        q, reward, terminated, truncated, info = self.env.step(action)
        return self.observations.next(q, action), reward, terminated, truncated, info
