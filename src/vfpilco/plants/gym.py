"""Gymnasium environments as plants of which only positions are measured."""

from __future__ import annotations

import json
import logging
import re
from importlib.metadata import requires
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.trial import unwrap
from vfpilco.plants.simulation import Sensed
from vfpilco.tasks.machine import Position
from vfpilco.tasks.task import Task

LONGER = "give it more steps, as in gym:ID?max_episode_steps=500, or shorten the horizon"


@runtime_checkable
class Environment(Protocol):
    """What a Gymnasium environment has and a plant has not."""

    observation_space: Any
    action_space: Any


class GymPlant(Sensed):
    """Steps an environment, reads the true positions from its observations and measures them with the task's sensor.

    Every position names its entry of the observation, or the two entries of its sine and cosine (`Position.entry`);
    without a name the i-th position is the i-th entry. Rewards are not used. A trial ends when the environment ends
    its episode.

    Raises:
        UserError: If the environment does not fit the task.
    """

    def __init__(self, env: Any, task: Task) -> None:
        self.env, self.sensor, self.angles = env, task.machine.sensor, task.machine.angles
        self.terminated, self.truncated, self.ended = False, False, ""
        self.rng, self.true = np.random.default_rng(0), np.zeros(len(self.angles))
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

    @property
    def true_positions(self) -> np.ndarray:
        """The positions in the last observation, without the sensor's error."""
        return self.true.copy()

    def reset(self, seed: int) -> np.ndarray:
        observed, _ = self.env.reset(seed=int(seed) % 2**31)
        self.rng = np.random.default_rng(seed)
        self.terminated, self.truncated, self.ended = False, False, ""
        self.true = self._positions(observed)
        return self.first_measurement()

    def step(self, u: np.ndarray) -> np.ndarray:
        space = self.env.action_space
        observed, _, terminated, truncated, _ = self.env.step(u.reshape(space.shape).astype(space.dtype))
        self.truncated = bool(truncated and not terminated)
        self.terminated = bool(terminated or truncated)
        self.ended = f"the time limit of {self.name} cut its episode short: {LONGER}" if self.truncated else ""
        if terminated:
            self.ended = f"{self.name} ended its episode"
        self.true = unwrap(self._positions(observed), self.true, self.angles)
        return self.measurement()

    def stop(self) -> None:
        """Do nothing: a simulation need not be stopped."""

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _positions(self, observed: Any) -> np.ndarray:
        o = np.asarray(observed, dtype=float)
        return np.array([np.arctan2(o[e[0]], o[e[1]]) if isinstance(e, tuple) else o[e] for e in self.entries])


def make(address: str) -> Any:
    """Make a registered environment: `ID`, or `ID?name=value&…` with keyword arguments of `gymnasium.make`.

    Raises:
        UserError: If Gymnasium or a part of it is not installed, if it has no such environment, or if that does not
            take these arguments.
    """
    name, _, query = address.partition("?")
    try:
        import gymnasium
    except ImportError as error:
        raise UserError("Gymnasium environments need gymnasium: pip install 'vfpilco[gym]'.") from error
    try:
        return gymnasium.make(name, **options(query))
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        remedy = _remedy(error)
        raise UserError(f"{name[:100]} needs a part that is not installed ({_reason(error)}): {remedy}.") from error
    except gymnasium.error.NamespaceNotFound as error:
        remedy = "pip install 'gymnasium[atari]'" if name.startswith("ALE/") else "install the package that has it"
        raise UserError(f"Gymnasium cannot make {name[:100]!r} ({_reason(error)}): {remedy}.") from error
    except gymnasium.error.Error as error:
        raise UserError(f"Gymnasium cannot make {name[:100]!r} ({_reason(error)}): check its name.") from error
    except TypeError as error:
        raise UserError(
            f"Gymnasium cannot make {name[:100]!r} with {query[:100]!r} ({_reason(error)}): check the options after ?."
        ) from error


def options(query: str) -> dict[str, Any]:
    """The keyword arguments in `name=value&…`; numbers, true and false are converted.

    Raises:
        UserError: If a part has no name or no value.
    """
    found = {}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if not name.isidentifier() or not value:
            raise UserError(f"Options of an environment are name=value, separated by &, got {part[:100]!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _remedy(error: Exception) -> str:
    """The command that installs what is missing: as the error names it, or the extra of Gymnasium that has it."""
    named = re.search(r"gymnasium\[[\w,-]+\]", str(error))
    if named:
        return f"pip install '{named[0]}'"
    module = next((each.name for each in (error, error.__cause__) if isinstance(each, ImportError) and each.name), None)
    if module is None:
        return "install it"
    package = module.partition(".")[0]
    extras = [
        re.search(r"""extra == ["']([\w-]+)""", requirement)
        for requirement in requires("gymnasium") or []
        if re.match(rf"{re.escape(package)}\b", requirement, flags=re.IGNORECASE)
    ]
    found = next((extra[1] for extra in extras if extra), None)
    return f"pip install 'gymnasium[{found}]'" if found else f"pip install {package}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
