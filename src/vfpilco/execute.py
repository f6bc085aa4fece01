"""Running one trial on the plant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vfpilco.errors import PlantError, UserError
from vfpilco.history import unwrap
from vfpilco.plants.base import Plant
from vfpilco.task import Task
from vfpilco.trial import Trial

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


def execute(task: Task, plant: Plant, controller: Controller, seed: int) -> Trial:
    """Run `controller` on the plant for one trial; inputs are clipped to their limits and the plant is always stopped.

    Where the plant fails, `PlantError.partial` holds what was recorded until then.
    """
    q: list[np.ndarray] = []
    u: list[np.ndarray] = []
    true: list[np.ndarray] = []

    def record(measured: np.ndarray) -> None:
        measured = np.asarray(measured, dtype=float)
        if measured.shape != (len(task.positions),):
            raise PlantError(
                f"The plant of task {task.name!r} returned positions of shape {measured.shape} at sample {len(q)} "
                f"instead of ({len(task.positions)},): return {', '.join(p.name for p in task.positions)}."
            )
        if not np.all(np.isfinite(measured)):
            raise PlantError(
                f"The plant of task {task.name!r} returned {_bad(task, measured)} at sample {len(q)} "
                f"(t = {len(q) * task.sampling_time:.3g} s): check the sensor, then learn again."
            )
        q.append(unwrap(measured, q[-1], task.angles) if q else measured)
        if hasattr(plant, "true_positions"):
            true.append(np.array(plant.true_positions, dtype=float))  # pyright: ignore[reportAttributeAccessIssue]

    try:
        record(plant.reset(seed))
        for _ in range(task.horizon):
            u.append(np.clip(np.asarray(controller(q[-1]), dtype=float), -task.limits, task.limits))
            record(plant.step(u[-1]))
    except PlantError as error:
        error.partial = _trial(task, q, u, true)
        raise
    except Exception as error:
        message = (
            f"The plant of task {task.name!r} failed at sample {len(q)} ({type(error).__name__}: {error}): "
            "earlier trials are kept; mend the plant, then learn again."
        )
        raise PlantError(message, _trial(task, q, u, true)) from error
    finally:
        plant.stop()
    return _trial(task, q, u, true)


def _bad(task: Task, measured: np.ndarray) -> str:
    names = [f"{p.name} = {value}" for p, value in zip(task.positions, measured, strict=True) if not np.isfinite(value)]
    return " and ".join(names)


def _trial(task: Task, q: list[np.ndarray], u: list[np.ndarray], true: list[np.ndarray]) -> Trial:
    """What was recorded: one measurement more than inputs, even where the plant failed in between."""
    u = u[: max(len(q) - 1, 0)]
    return Trial(
        np.array(q).reshape(-1, len(task.positions)),
        np.array(u).reshape(-1, len(task.inputs)),
        task.sampling_time,
        np.array(true[: len(q)]) if true else None,
    )
