"""Gymnasium environments as plants of which only positions are measured."""

from __future__ import annotations

import logging
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.tasks.machine import Position
from vfpilco.tasks.task import Task


@runtime_checkable
class Environment(Protocol):
    """What a Gymnasium environment has and a plant has not."""

    observation_space: Any
    action_space: Any


class GymPlant:
    """Steps an environment and reads the positions from its observations.

    Every position names its entry of the observation, or the two entries of its sine and cosine (`Position.entry`);
    without a name the i-th position is the i-th entry. Rewards are not used. A trial ends when the environment ends
    its episode.

    Raises:
        UserError: If the environment does not fit the task.
    """

    def __init__(self, env: Any, task: Task) -> None:
        self.env, self.terminated = env, False
        self.name = getattr(env.spec, "id", None) or type(env).__name__
        self.entries = [i if p.entry is None else p.entry for i, p in enumerate(task.machine.positions)]
        self._check_inputs(task)
        self._check_positions(task)
        self._check_sampling_time(task)

    def _check_inputs(self, task: Task) -> None:
        space, inputs = self.env.action_space, task.machine.inputs
        if not hasattr(space, "high") or int(np.prod(space.shape)) != len(inputs):
            raise UserError(
                f"{self.name} takes actions {space}, but task {task.name!r} has {len(inputs)} inputs: define one for "
                "every number in an action, and wrap an environment with discrete actions."
            )
        most = np.minimum(-space.low, space.high).ravel()
        for i, limit in zip(inputs, most, strict=True):
            if i.limit > limit:
                raise UserError(
                    f"{self.name} takes {i.name!r} up to {limit:.4g}, got a limit of {i.limit:.4g}: lower it."
                )

    def _check_positions(self, task: Task) -> None:
        shape, positions = self.env.observation_space.shape, task.machine.positions
        if shape is None or len(shape) != 1:
            raise UserError(
                f"{self.name} observes {self.env.observation_space}, but a vector of numbers is needed: wrap it."
            )
        if len(positions) != shape[0] and any(p.entry is None for p in positions):
            raise UserError(
                f"{self.name} observes {shape[0]} numbers, but task {task.name!r} has {len(positions)} positions: say "
                "which is which with Position(…, entry=i), or entry=(sine, cosine)."
            )
        for position, entry in zip(positions, self.entries, strict=True):
            self._check_entry(position, entry, shape[0])

    def _check_entry(self, position: Position, entry: int | tuple[int, int], observed: int) -> None:
        indices = entry if isinstance(entry, tuple) else (entry,)
        if len(indices) > 2 or not all(0 <= i < observed for i in indices):
            raise UserError(
                f"Position {position.name!r} is entry {entry} of what {self.name} observes, which has {observed} "
                "entries: give its index, or those of its sine and cosine."
            )
        if len(indices) == 2 and not position.angle:
            raise UserError(f"Position {position.name!r} has a sine and a cosine: say angle=True.")

    def _check_sampling_time(self, task: Task) -> None:
        step = getattr(self.env.unwrapped, "dt", None)
        if isinstance(step, float) and not 0.99 < step / task.machine.sampling_time < 1.01:
            logging.getLogger("vfpilco").warning(
                "%s simulates %g s per step, but task %r has a sampling time of %g s: use the same sampling_time.",
                self.name,
                step,
                task.name,
                task.machine.sampling_time,
            )

    def reset(self, seed: int) -> np.ndarray:
        observed, _ = self.env.reset(seed=int(seed) % 2**31)
        self.terminated = False
        return self._positions(observed)

    def step(self, u: np.ndarray) -> np.ndarray:
        space = self.env.action_space
        observed, _, terminated, truncated, _ = self.env.step(u.reshape(space.shape).astype(space.dtype))
        self.terminated = bool(terminated or truncated)
        return self._positions(observed)

    def stop(self) -> None:
        """Do nothing: a simulation need not be stopped."""

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _positions(self, observed: Any) -> np.ndarray:
        o = np.asarray(observed, dtype=float)
        return np.array([np.arctan2(o[e[0]], o[e[1]]) if isinstance(e, tuple) else o[e] for e in self.entries])


def make(name: str) -> Any:
    """Make the registered environment called `name`.

    Raises:
        UserError: If Gymnasium is not installed, or has no such environment.
    """
    try:
        import gymnasium
    except ImportError as error:
        raise UserError("Gymnasium environments need gymnasium: pip install 'vfpilco[gym]'.") from error
    try:
        return gymnasium.make(name)
    except gymnasium.error.Error as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"Gymnasium cannot make {name[:100]!r} ({reason}): check its name.") from error
