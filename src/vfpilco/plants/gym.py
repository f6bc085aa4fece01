"""A Gymnasium environment as a plant, of which only positions are seen."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from vfpilco.errors import UserError
from vfpilco.task import Task


class GymPlant:
    """Steps an environment, and picks the positions out of its observations.

    Every position says which entry of the observation it is, or which two are its sine and cosine
    (`Position.entry`); the i-th position is the i-th entry if it does not. Rewards are not used. A trial is over when
    the environment ends its episode.
    """

    def __init__(self, env: Any, task: Task) -> None:
        self.env, self.over = env, False
        self.entries = [i if p.entry is None else p.entry for i, p in enumerate(task.positions)]
        self._check(task)

    def _check(self, task: Task) -> None:
        seen, space = self.env.observation_space.shape, self.env.action_space
        name = getattr(self.env.spec, "id", None) or type(self.env).__name__
        if seen is None or len(seen) != 1:
            raise UserError(f"{name} observes {self.env.observation_space} where a vector of numbers is due: wrap it.")
        if not hasattr(space, "high") or int(np.prod(space.shape)) != len(task.inputs):
            raise UserError(
                f"{name} takes actions {space}, and task {task.name!r} has {len(task.inputs)} inputs: name one for "
                "every number in an action, and wrap an environment with discrete actions."
            )
        most = np.minimum(-space.low, space.high).ravel()
        for i, limit in zip(task.inputs, most, strict=True):
            if i.limit > limit:
                raise UserError(f"{name} takes {i.name!r} up to {limit:.4g}, got a limit of {i.limit:.4g}: lower it.")
        if len(task.positions) != seen[0] and any(p.entry is None for p in task.positions):
            raise UserError(
                f"{name} observes {seen[0]} numbers and task {task.name!r} has {len(task.positions)} positions: say "
                "which is which with Position(…, entry=i), or entry=(sine, cosine)."
            )
        for p, entry in zip(task.positions, self.entries, strict=True):
            of = entry if isinstance(entry, tuple) else (entry,)
            if len(of) > 2 or not all(0 <= i < seen[0] for i in of):
                raise UserError(
                    f"Position {p.name!r} is entry {entry} of what {name} observes, which has {seen[0]} entries: give "
                    "its index, or those of its sine and cosine."
                )
            if len(of) == 2 and not p.angle:
                raise UserError(f"Position {p.name!r} has a sine and a cosine: say angle=True.")

        steps = getattr(self.env.unwrapped, "dt", None)
        if isinstance(steps, float) and not 0.99 < steps / task.sampling_time < 1.01:
            logging.getLogger("vfpilco").warning(
                "%s moves on by %g s in a step, and task %r says %g s: give it the same sampling_time.",
                name,
                steps,
                task.name,
                task.sampling_time,
            )

    def reset(self, seed: int) -> np.ndarray:
        observed, _ = self.env.reset(seed=int(seed) % 2**31)
        self.over = False
        return self._positions(observed)

    def step(self, u: np.ndarray) -> np.ndarray:
        space = self.env.action_space
        observed, _, terminated, truncated, _ = self.env.step(u.reshape(space.shape).astype(space.dtype))
        self.over = bool(terminated or truncated)
        return self._positions(observed)

    def stop(self) -> None:
        """A simulation needs no stopping."""

    def close(self) -> None:
        """Nobody drives it any more."""
        self.env.close()

    def _positions(self, observed: Any) -> np.ndarray:
        o = np.asarray(observed, dtype=float)
        return np.array([np.arctan2(o[e[0]], o[e[1]]) if isinstance(e, tuple) else o[e] for e in self.entries])


def make(name: str) -> Any:
    """The registered environment called `name`."""
    try:
        import gymnasium
    except ImportError as error:
        raise UserError("Gymnasium environments need gymnasium: pip install 'vfpilco[gym]'.") from error
    try:
        return gymnasium.make(name)
    except gymnasium.error.Error as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"Gymnasium cannot make {name[:100]!r} ({reason}).") from error
