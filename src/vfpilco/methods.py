"""The methods that can be chosen, each a state representation."""

from __future__ import annotations

import dataclasses
from typing import Any

from vfpilco.errors import UserError
from vfpilco.filtered import Filtered, FullState, KalmanSmoother, LowPass, differences, kalman, low_pass
from vfpilco.history import VelocityFree
from vfpilco.representation import Representation
from vfpilco.sensors import Spreading
from vfpilco.settings import Settings
from vfpilco.task import Task

REPRESENTATIONS: dict[str, type] = {"vf": VelocityFree, "pms": Filtered, "full-state": FullState}
"""VF-MC-PILCO, MC-PILCO4PMS, and MC-PILCO with the true state."""


def represent(task: Task, settings: Settings) -> Representation:
    """The state representation of a method on a task."""
    angles, d_u, h = task.angles, len(task.inputs), task.sampling_time
    if settings.method == "full-state":
        return FullState(angles, d_u, h, task.commands, task.features)
    if settings.method == "pms":
        cutoff, acceleration = settings.cutoff, settings.acceleration
        online = (
            low_pass(len(angles), h, cutoff) if settings.online == "low-pass" else kalman(_noise(task), h, acceleration)
        )
        offline = LowPass(cutoff) if settings.offline == "low-pass" else KalmanSmoother(_noise(task), acceleration)
        online = differences(online, task.commands, h)
        return Filtered(angles, d_u, h, task.commands, task.features, online.a, online.b, offline)
    return VelocityFree(
        angles,
        d_u,
        settings.m_q,
        settings.m_u,
        differences=settings.inputs == "differences",
        constant_velocity=settings.prior_mean == "constant-velocity",
        commands=task.commands,
        features=task.features,
        correlated=settings.noise == "correlated",
        jitter=settings.jitter / h,
        spread=_noise(task) if settings.jitter and settings.noise == "correlated" else (),
    )


def _noise(task: Task) -> tuple[float, ...]:
    """The standard deviation of the sensor's error at every position."""
    if not isinstance(task.sensor, Spreading):
        raise UserError(
            f"The sensor of task {task.name!r} does not tell how large its error is, as a Kalman filter and --jitter "
            "need: give it a method spread() that returns a standard deviation per position, or leave them out."
        )
    return task.sensor.spread()


def to_description(representation: Any) -> dict[str, Any]:
    """What has to be written down of a representation for a policy to be run with it."""
    method = next(name for name, cls in REPRESENTATIONS.items() if type(representation) is cls)
    fields = {f.name: getattr(representation, f.name) for f in dataclasses.fields(representation)}
    for name in ("offline", "commands", "features", "correlated", "jitter", "spread"):  # serve the model only
        fields.pop(name, None)
    return {"method": method, **fields}


def from_description(description: dict[str, Any]) -> Representation:
    """The representation that was written down."""
    fields = dict(description)
    return REPRESENTATIONS[fields.pop("method")](**tuples(fields))


def tuples(value: Any) -> Any:
    """Lists, as JSON has them, as tuples; dictionaries entry by entry."""
    if isinstance(value, dict):
        return {name: tuples(entry) for name, entry in value.items()}
    return tuple(map(tuples, value)) if isinstance(value, list) else value
