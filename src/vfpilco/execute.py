"""Running one trial on the plant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vfpilco.errors import Interrupted, PlantError, UserError
from vfpilco.plants.base import Plant
from vfpilco.task import Task
from vfpilco.trial import Trial, unwrap
from vfpilco.trialfile import TrialLog

Controller = Callable[[np.ndarray], np.ndarray]
"""Called with every measurement as it comes in, returns the inputs to apply."""


def connect(task: Task) -> Plant:
    """Make or reach the task's plant."""
    try:
        return task.plant()
    except UserError:
        raise
    except Exception as error:
        raise PlantError(
            f"The plant of task {task.name!r} could not be made or reached ({type(error).__name__}: {error})."
        ) from error


def execute(
    task: Task,
    plant: Plant,
    controller: Controller,
    seed: int,
    log: TrialLog | None = None,
    *,
    full_state: bool = False,
) -> Trial:
    """Run `controller` on the plant for one trial; inputs are clipped to their limits and the plant is always stopped.

    Every sample goes to `log` as it comes. With `full_state` the controller is given the true positions and velocities
    of a simulated plant instead of the measured positions.

    Where something fails, Ctrl-C included, the `PlantError` or `Interrupted` holds in `partial` what was recorded.
    """
    recorded = Recording(task, plant, log)
    problem: BaseException | None = None
    try:
        recorded.add(plant.reset(seed))
        for _ in range(task.horizon):
            seen = recorded.true_state if full_state else recorded.q[-1]
            recorded.add(plant.step(recorded.apply(controller(seen))))
            if is_over(task, recorded.q[-1]):
                break
        recorded.keep(None)
    except KeyboardInterrupt as error:
        problem = Interrupted("The trial was interrupted.", recorded.trial())
        problem.__cause__ = error
    except UserError as error:
        problem = error if isinstance(error, PlantError) else PlantError(str(error))
    except Exception as error:
        problem = PlantError(
            f"The plant of task {task.name!r} failed at sample {len(recorded.q)} ({type(error).__name__}: {error}): "
            "mend it and start again."
        )
        problem.__cause__ = error
    try:
        plant.stop()
    except Exception as error:
        also = (
            f"The plant of task {task.name!r} could not be stopped ({type(error).__name__}: {error}): stop it by hand."
        )
        problem = PlantError(also if problem is None else f"{problem} {also}")
    if problem is None:
        return to_its_end(task, recorded.trial())
    problem.partial = recorded.trial()  # pyright: ignore[reportAttributeAccessIssue]
    raise problem


def is_over(task: Task, q: np.ndarray) -> bool:
    """Whether a trial is over before its time at the measured positions `q`."""
    return task.ends is not None and bool(task.ends(q))


def to_its_end(task: Task, trial: Trial) -> Trial:
    """A trial without the sample that ended it before its time, if there are others."""
    return trial.first(trial.steps - 1) if trial.steps > 1 and is_over(task, trial.q[-1]) else trial


class Recording:
    """What has been measured and applied so far in a trial; refuses what is not a measurement or not an input."""

    def __init__(self, task: Task, plant: Plant, log: TrialLog | None) -> None:
        self.task, self.plant, self.log = task, plant, log
        self.q: list[np.ndarray] = []
        self.u: list[np.ndarray] = []
        self.true: list[np.ndarray] = []
        self.velocity: list[np.ndarray] = []

    def add(self, measured: np.ndarray) -> None:
        """Keep a measurement; angles are followed by whole turns."""
        task, measured = self.task, np.asarray(measured, dtype=float)
        if measured.shape != (len(task.positions),):
            raise PlantError(
                f"The plant of task {task.name!r} returned positions of shape {measured.shape} at sample {len(self.q)} "
                f"instead of ({len(task.positions)},): return {', '.join(p.name for p in task.positions)}."
            )
        if not np.all(np.isfinite(measured)):
            raise PlantError(
                f"The plant of task {task.name!r} returned {_bad(task, measured)} at sample {len(self.q)} "
                f"(t = {len(self.q) * task.sampling_time:.3g} s): check the sensor and start again."
            )
        self.q.append(unwrap(measured, self.q[-1], task.angles) if self.q else measured)
        if hasattr(self.plant, "true_positions"):
            true = np.array(self.plant.true_positions, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
            self.true.append(unwrap(true, self.q[-1], task.angles))
        if hasattr(self.plant, "true_velocities"):
            self.velocity.append(np.array(self.plant.true_velocities, dtype=float))  # pyright: ignore

    def apply(self, u: np.ndarray) -> np.ndarray:
        """The input to apply, within its limits."""
        u = np.asarray(u, dtype=float)
        if u.shape != self.task.limits.shape or not np.all(np.isfinite(u)):
            raise PlantError(
                f"The controller gave {u.tolist()} at sample {len(self.q) - 1} where {len(self.task.inputs)} finite "
                "inputs were due: nothing was applied."
            )
        self.u.append(np.clip(u, -self.task.limits, self.task.limits))
        self.keep(self.u[-1])
        return self.u[-1]

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
