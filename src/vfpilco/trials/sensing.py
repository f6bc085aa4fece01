"""The sensor that a run assumes: the declared one, unless its measurements clearly scatter more, or less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vfpilco.common.text import readable
from vfpilco.data.trial import Trial
from vfpilco.recordings.noise import Declared, Scatter, scatters
from vfpilco.tasks.machine import Machine, Position
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter, Undeclared
from vfpilco.trials.choosing import MARGIN

NATS = 8.0
"""By how much, in log evidence, other noise must be better than any noise close to the declared one: all positions
together that scatter more than declared, or all that scatter less, each of them by `MARGIN` at least."""
EXACT = GaussianNoise((0.0,))
Simple = GaussianNoise | Quantised


@dataclass(frozen=True)
class Sensing:
    """The sensor that is assumed, and remarks about what was found."""

    sensor: Sensor
    remarks: tuple[str, ...] = ()


def choose_sensor(explored: Sequence[Trial], machine: Machine, m_u: int, open_loop: bool = False) -> Sensing:
    """The declared sensor, with another noise or step at the positions where the data clearly disagree.

    Args:
        explored: What was measured and applied.
        machine: The machine, with its declared sensor.
        m_u: How many inputs before the present one have an effect.
        open_loop: Whether the inputs are known not to depend on the measurements. Those of a controller contain the
            errors of the measurements, and explain them: the motion is then explained without inputs.
    """
    sensor = machine.sensor
    inner = sensor.sensor if isinstance(sensor, TimingJitter) else sensor
    parts, std = _parts(inner, len(machine.positions)), _std(inner, explored)
    if std is None:
        return Sensing(sensor)
    steps = [part.step[0] if isinstance(part, Quantised) else 0.0 for part in parts]
    declared = [Declared(*each) for each in zip(std, steps, strict=True)]
    found = _jointly(scatters(explored, machine, declared, range(m_u + 1 if open_loop else 0)))
    if isinstance(inner, Undeclared):
        chosen = _undeclared(found, machine)
    else:
        chosen = _corrected(found, declared, parts, machine)
        if chosen.sensor is inner:
            return replace(chosen, sensor=sensor)
    wraps = isinstance(sensor, TimingJitter)
    return replace(chosen, sensor=replace(sensor, sensor=chosen.sensor)) if wraps else chosen


def _jointly(found: Sequence[Scatter | None]) -> list[Scatter | None]:
    """The same with the evidence of all that scatter more, or less, and clearly so: who errs in a unit errs in all."""
    gains = {True: 0.0, False: 0.0}
    clear = [s is not None and not s.declared.agrees(s.noise) and s.gain > MARGIN for s in found]
    for scatter, is_clear in zip(found, clear, strict=True):
        if scatter is not None and is_clear:
            gains[scatter.more] += scatter.gain
    return [
        replace(scatter, gain=gains[scatter.more]) if scatter is not None and is_clear else scatter
        for scatter, is_clear in zip(found, clear, strict=True)
    ]


def disagrees(scatter: Scatter, declared: Declared) -> bool:
    """Whether measurements are in other steps than declared, or clearly scatter more or less."""
    return scatter.declared != declared or is_noise(scatter)


def is_noise(scatter: Scatter) -> bool:
    """Whether there is clearly another noise than the declared one."""
    return not scatter.declared.agrees(scatter.noise) and scatter.gain > NATS


def _corrected(
    found: Sequence[Scatter | None], declared: Sequence[Declared], parts: Sequence[Sensor], machine: Machine
) -> Sensing:
    """The declared sensor of every position, or that of what was found."""
    sensors, remarks = list(parts), []
    for i, (p, scatter, before) in enumerate(zip(machine.positions, found, declared, strict=True)):
        if scatter is None or not disagrees(scatter, before):
            continue
        compared = _compared(p, scatter, before)
        if isinstance(parts[i], Simple):
            sensors[i] = _sensor_of(scatter)
            remarks.append(f"Chosen: {compared}.")
        else:
            remarks.append(f"CHECK THE MEASUREMENTS: {compared}; such a sensor is not changed, correct it in the task.")
    own = machine.sensor.sensor if isinstance(machine.sensor, TimingJitter) else machine.sensor
    return Sensing(own if sensors == list(parts) else _together(sensors), tuple(remarks))


def _parts(sensor: Sensor, positions: int) -> list[Sensor]:
    """A sensor of its own for every position; one of another kind is the same for all."""
    if isinstance(sensor, GaussianNoise):
        return [GaussianNoise((std,)) for std in sensor.std]
    if isinstance(sensor, Quantised):
        return [Quantised((step,)) for step in sensor.step]
    return list(sensor.sensors) if isinstance(sensor, PerPosition) else [sensor] * positions


def _std(sensor: Sensor, explored: Sequence[Trial]) -> list[float] | None:
    """The declared standard deviation per position, in the mean over the motion; None if it is unknown."""
    d_q = explored[0].q.shape[1]
    if isinstance(sensor, Undeclared):
        return [0.0] * d_q
    each = [sensor.error_std(trial.q) for trial in explored]
    rows = [np.broadcast_to(std, (1, d_q) if np.ndim(std) == 1 else np.shape(std)) for std in each if std is not None]
    if len(rows) < len(each):
        return None
    return np.sqrt(np.mean(np.concatenate(rows) ** 2, axis=0)).tolist()


def _undeclared(found: Sequence[Scatter | None], machine: Machine) -> Sensing:
    """A sensor for a machine whose task says nothing of it."""
    sensors = [EXACT if scatter is None else _sensor_of(scatter) for scatter in found]
    unknown = [p.name for p, s in zip(machine.positions, found, strict=True) if s is None and p.commanded is None]
    remarks = [
        f"Chosen: {_named(p, _sensor_of(s))}. The task does not declare a sensor."
        for p, s in zip(machine.positions, found, strict=True)
        if s is not None
    ]
    if unknown:
        names = " and ".join(unknown)
        remarks.append(f"CHECK THE MEASUREMENTS: the noise of {names} is unknown and taken to be 0: declare a sensor.")
    return Sensing(_together(sensors), tuple(remarks))


def _sensor_of(scatter: Scatter) -> Simple:
    """A sensor for one position with these errors."""
    if is_noise(scatter) or not scatter.declared.step:
        return GaussianNoise((float(f"{scatter.noise:.2g}"),))
    return Quantised((float(f"{scatter.declared.step:.9g}"),))


def _together(parts: Sequence[Any]) -> Sensor:
    """One sensor for all positions; those that are exact are of any kind."""
    kinds = {type(part) for part in parts if not isinstance(part, Simple) or any(_sizes(part))}
    if kinds <= {GaussianNoise}:
        return GaussianNoise(tuple(_sizes(part)[0] for part in parts))
    if kinds == {Quantised}:
        return Quantised(tuple(_sizes(part)[0] for part in parts))
    return PerPosition(tuple(parts))


def _sizes(part: Simple) -> Sequence[float]:
    return part.std if isinstance(part, GaussianNoise) else part.step


def _compared(position: Position, scatter: Scatter, declared: Declared) -> str:
    """What was found and what is declared, in words."""
    before: Simple = Quantised((declared.step,)) if declared.step else GaussianNoise((declared.std,))
    if is_noise(scatter):
        why = f"the measurements scatter {'more' if scatter.more else 'less'}, by {scatter.gain:.0f} nats of evidence"
    else:
        why = "all measurements are multiples of these steps"
    return f"{_named(position, _sensor_of(scatter))}. Declared: {_size(position, before)}, but {why}"


def _named(position: Position, sensor: Simple) -> str:
    what = "steps" if isinstance(sensor, Quantised) else "noise"
    return f"{what} of {position.name}, {_size(position, sensor)}"


def _size(position: Position, sensor: Simple) -> str:
    what = "steps of " if isinstance(sensor, Quantised) else ""
    return f"{what}{readable(_sizes(sensor)[0], 3)} {position.unit}".strip()
