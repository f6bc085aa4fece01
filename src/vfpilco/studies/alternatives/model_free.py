"""Model-free reinforcement learning by Stable-Baselines3: SAC, and TQC from sb3-contrib."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.machines.load import load
from vfpilco.studies.alternatives.observations import Observations
from vfpilco.studies.alternatives.records import Attempt
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import connected, execute

CUT_OFF = 2 * 3600.0
"""Seconds of experience after which a learner is stopped."""
EPISODES = 5
"""Episodes between two executions of the policy without its exploring noise."""
PACKAGES = ("stable_baselines3", "sb3_contrib", "torch", "gymnasium")


def learner(name: str) -> type:
    """The class of an algorithm.

    Raises:
        UserError: If Stable-Baselines3 is not installed.
    """
    try:
        from sb3_contrib import TQC  # pyright: ignore[reportMissingImports]
        from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserError(
            f"The alternative {name} needs Stable-Baselines3: pip install 'vfpilco[baselines]', or leave it out with "
            "--only."
        ) from error
    return {"sac": SAC, "tqc": TQC}[name]


class Controller:
    """A policy of Stable-Baselines3 as a controller of our plants; it observes the inputs that it gave."""

    def __init__(self, task: Task, predict: Callable[..., Any]) -> None:
        self.observations, self.predict, self.u = Observations(task.machine), predict, None

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The inputs for the measured positions."""
        seen = self.observations.reset(q) if self.u is None else self.observations.next(q, self.u)
        self.u = np.asarray(self.predict(seen, deterministic=True)[0], dtype=float)
        return self.u


def learn(name: str, task_name: str, seed: int, cut_off: float = CUT_OFF, episodes: int = EPISODES) -> Attempt:
    """Learn a task, with the algorithm's own default settings, until an execution succeeds or until the cut-off.

    Args:
        name: `sac` or `tqc`.
        task_name: A built-in task.
        seed: Fixes all randomness.
        cut_off: Seconds of experience after which it is stopped.
        episodes: Episodes between two executions without exploring noise, which are no experience.
    """
    cls = learner(name)
    from vfpilco.studies.alternatives.environment import Windowed

    _one_thread()
    task, begun = load(task_name), time.monotonic()
    model = cls("MlpPolicy", Windowed(task_name), seed=seed, device="cpu", verbose=0)
    steps, executions, solved = episodes * task.horizon, 0, False
    with connected(task) as plant:
        while not solved and model.num_timesteps * task.machine.sampling_time < cut_off:
            model.learn(steps, reset_num_timesteps=False)
            drawn = np.random.SeedSequence([seed, 3_000_000 + executions]).generate_state(1)[0]
            trial = execute(task, plant, Controller(task, model.predict), int(drawn))
            executions += 1
            solved = task.evaluate(trial.evaluated, trial.reached).success
    experience = model.num_timesteps * task.machine.sampling_time
    return Attempt(solved, float(experience), (time.monotonic() - begun) / 60, executions)


def _one_thread() -> None:
    """Small networks are not faster on several cores, and every run is to have one."""
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
