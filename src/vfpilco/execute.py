"""Running one trial on the plant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import numpy as np

from vfpilco import stopping
from vfpilco.errors import Interrupted, PlantError, UserError, told
from vfpilco.limits import Slew
from vfpilco.plants.base import Plant
from vfpilco.plants.places import find
from vfpilco.realtime import Punctuality, undisturbed
from vfpilco.task import Task
from vfpilco.trial import Trial, unwrap
from vfpilco.trialfile import TrialLog

Controller = Callable[[np.ndarray], np.ndarray]
"""Called with every measurement as it comes in, returns the inputs to apply."""


def connect(task: Task) -> Plant:
    """Make or reach the task's plant."""
    try:
        plant = find(task)
        missing = [name for name in ("reset", "step", "stop") if not callable(getattr(plant, name, None))]
        if missing:
            raise PlantError(
                f"The plant of task {task.name!r}, a {type(plant).__name__}, has no method {' and no '.join(missing)}: "
                "give it reset, step and stop."
            )
        return plant
    except UserError:
        raise
    except Exception as error:
        raise PlantError(
            f"The plant of task {task.name!r} could not be made or reached ({type(error).__name__}: {error})."
        ) from error


@contextmanager
def connected(task: Task) -> Iterator[Plant]:
    """The task's plant, which is left to others afterwards if it can be."""
    plant = connect(task)
    try:
        yield plant
    finally:
        if hasattr(plant, "close"):
            plant.close()  # pyright: ignore[reportAttributeAccessIssue]


def execute(
    task: Task,
    plant: Plant,
    controller: Controller,
    seed: int,
    log: TrialLog | None = None,
    *,
    full_state: bool = False,
    slew: Slew | None = None,
    punctuality: Punctuality | None = None,
) -> Trial:
    """Run `controller` on the plant for one trial; inputs are kept to their limits and the plant is always stopped.

    Every sample goes to `log` as it comes. With `full_state` the controller is given the true positions and velocities
    of a simulated plant instead of the measured positions. `punctuality` is told when every sample came.

    Where something fails, Ctrl-C included, the `PlantError` or `Interrupted` holds in `partial` what was recorded.
    """
    recorded = Recording(task, plant, log, slew)
    problem: BaseException | None = None
    try:
        with undisturbed() if punctuality else nullcontext():
            _drive(recorded, controller, seed, full_state, punctuality)
    except KeyboardInterrupt as error:
        problem = Interrupted("The trial was interrupted.", recorded.trial())
        problem.__cause__ = error
    except UserError as error:
        problem = error if isinstance(error, PlantError) else PlantError(str(error))
    except Exception as error:
        problem = PlantError(
            f"The plant of task {task.name!r} failed at sample {len(recorded.q)} ({told(error)}): mend it."
        )
        problem.__cause__ = error
    try:
        plant.stop()
    except Exception as error:
        reason = str(error).split(": ")[0] if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        first = f"Stop the machine by hand: the plant of task {task.name!r} could not be stopped ({reason})."
        problem = PlantError(first if problem is None else f"{first} {problem}")
    if problem is None:
        return to_its_end(task, recorded.trial())
    problem.partial = recorded.trial()  # pyright: ignore[reportAttributeAccessIssue]
    raise problem


def _drive(
    recorded: Recording, controller: Controller, seed: int, full_state: bool, punctuality: Punctuality | None
) -> None:
    """Measure, answer, measure again, until the trial is over."""
    task, plant = recorded.task, recorded.plant
    recorded.add(plant.reset(seed))
    outside = task.outside(recorded.q[0])
    if outside:
        raise PlantError(f"The plant of task {task.name!r} starts where it may not be: {outside}. Nothing was applied.")
    for _ in range(task.horizon):
        stopping.heed()
        if punctuality:
            punctuality.measured()
        u = recorded.limited(controller(recorded.true_state if full_state else recorded.q[-1]))
        if punctuality:
            punctuality.answered()
        recorded.apply(u)
        recorded.add(plant.step(u))
        if task.over(recorded.q[-1]) or getattr(plant, "over", False):
            break
    if punctuality:
        punctuality.measured()
    recorded.keep(None)


def to_its_end(task: Task, trial: Trial) -> Trial:
    """A trial without the sample that ended it before its time, if there are others."""
    why = task.over(trial.q[-1]) if trial.steps > 1 else None
    return trial if why is None else replace(trial.first(trial.steps - 1), ended=why)


class Recording:
    """What has been measured and applied so far in a trial; refuses what is not a measurement or not an input."""

    def __init__(self, task: Task, plant: Plant, log: TrialLog | None, slew: Slew | None = None) -> None:
        self.task, self.plant, self.log, self.slew = task, plant, log, slew
        self.q: list[np.ndarray] = []
        self.u: list[np.ndarray] = []
        self.true: list[np.ndarray] = []
        self.velocity: list[np.ndarray] = []

    def add(self, measured: np.ndarray | None) -> None:
        """Keep a measurement; angles are followed by whole turns."""
        task = self.task
        if measured is None:
            raise PlantError(
                f"The plant of task {task.name!r} returned nothing at sample {len(self.q)}: let reset and step return "
                f"the measured {', '.join(p.name for p in task.positions)}."
            )
        measured = np.asarray(measured, dtype=float)
        if measured.shape != (len(task.positions),):
            raise PlantError(
                f"The plant of task {task.name!r} returned positions of shape {measured.shape} at sample {len(self.q)} "
                f"instead of ({len(task.positions)},): return {', '.join(p.name for p in task.positions)}."
            )
        if not np.all(np.isfinite(measured)):
            raise PlantError(
                f"The plant of task {task.name!r} returned {_bad(task, measured)} at sample {len(self.q)} "
                f"(t = {len(self.q) * task.sampling_time:.3g} s): check the sensor."
            )
        self.q.append(unwrap(measured, self.q[-1], task.angles) if self.q else measured)
        if hasattr(self.plant, "true_positions"):
            true = np.array(self.plant.true_positions, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
            self.true.append(unwrap(true, self.q[-1], task.angles))
        if hasattr(self.plant, "true_velocities"):
            self.velocity.append(np.array(self.plant.true_velocities, dtype=float))  # pyright: ignore

    def limited(self, u: np.ndarray) -> np.ndarray:
        """The inputs within their limits, and no further from the last ones than they may be."""
        u = np.asarray(u, dtype=float)
        if u.shape != self.task.limits.shape or not np.all(np.isfinite(u)):
            raise PlantError(
                f"The controller gave {u.tolist()} at sample {len(self.q) - 1} where {len(self.task.inputs)} finite "
                "inputs were due: nothing was applied."
            )
        if self.slew is not None:
            u = self.slew(u, self.u[-1] if self.u else np.zeros_like(u))
        return np.clip(u, -self.task.limits, self.task.limits)

    def apply(self, u: np.ndarray) -> None:
        """These inputs are going to be applied."""
        self.u.append(u)
        self.keep(u)

    def keep(self, u: np.ndarray | None) -> None:
        """Write the latest sample down, with the inputs that are applied on it."""
        if self.log is not None:
            self.log.add(len(self.q) - 1, self.q[-1], u, [known[-1] for known in (self.true, self.velocity) if known])

    @property
    def true_state(self) -> np.ndarray:
        """True positions and velocities at the latest sample."""
        return np.concatenate([self.true[-1], self.velocity[-1]])

    def trial(self) -> Trial:
        """What was recorded: one measurement more than inputs, even where the plant failed in between."""
        d_q, d_u = len(self.task.positions), len(self.task.inputs)
        u = self.u[: max(len(self.q) - 1, 0)]
        known = [np.array(rows[: len(self.q)]) if rows else None for rows in (self.true, self.velocity)]
        return Trial(np.array(self.q).reshape(-1, d_q), np.array(u).reshape(-1, d_u), self.task.sampling_time, *known)


def _bad(task: Task, measured: np.ndarray) -> str:
    names = [f"{p.name} = {value}" for p, value in zip(task.positions, measured, strict=True) if not np.isfinite(value)]
    return " and ".join(names)
