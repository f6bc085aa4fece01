"""Which columns of a recording are time, positions and inputs: given by a task, by the user, or guessed by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfpilco.common.errors import UserError, unknown
from vfpilco.common.units import UNITS, converted
from vfpilco.tasks.machine import Input, Position
from vfpilco.tasks.task import Task

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "millis": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
SECONDS |= {"micros": 1e-6, "ns": 1e-9}
"""The length of a unit of time."""
TIME = re.compile(r"(t|time|times|time[ _-]?stamp|elapsed|seconds|millis|micros)([ _]?(?:s|sec|ms|us|µs|μs|ns))?", re.I)
INPUT = re.compile(r"(u\d*|u_.*|input.*|volt.*|current.*|torque.*|force.*|cmd.*|command.*|control.*|pwm.*)", re.I)
ANGLE = re.compile(r"(.*angle.*|alpha.*|beta.*|theta.*|phi.*|psi.*|.*pendulum.*|.*pole.*|joint.*)", re.I)


@dataclass(frozen=True)
class Channels:
    """The positions and inputs that a recording should contain, and what is known about its samples."""

    positions: tuple[Position, ...]
    inputs: tuple[Input, ...]
    sampling_time: float | None = None
    horizon: int | None = None
    memory: int = 2
    """The longest memory of the state: how many samples come before the first one that is learned from."""

    @classmethod
    def of(cls, task: Task, memory: int = 2) -> Channels:
        """The channels of a task, for a state with this longest memory."""
        machine = task.machine
        return cls(machine.positions, machine.inputs, machine.sampling_time, task.horizon, memory)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles."""
        return tuple(p.angle for p in self.positions)

    @property
    def limits(self) -> np.ndarray:
        """The largest magnitude of each input; infinite where it is unknown."""
        return np.array([i.limit for i in self.inputs])


def split_unit(name: str) -> tuple[str, str | None]:
    """A column's name without its unit, and the unit in brackets if there is one."""
    found = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]", name.strip())
    return (found[1].strip(), found[2]) if found and found[1].strip() else (name.strip(), None)


def time_column(names: Sequence[str]) -> tuple[int, float | None] | None:
    """The index of the time column and the length of its unit in seconds, if it has one; None if there is none."""
    for i, name in enumerate(names):
        bare, unit = split_unit(name)
        found = TIME.fullmatch(bare)
        if found:
            unit = unit or (found[2] or "").strip(" _") or (bare if bare.lower() in SECONDS else "")
            return i, SECONDS.get(unit.lower()) if unit else None
    return None


def columns_of(wanted: Sequence[str], names: Sequence[str], path: object) -> list[int]:
    """The indices of the columns with the `wanted` names; case and unit do not matter.

    Raises:
        UserError: If a column is missing, with the closest name, or if there are several of the same name.
    """
    bare = [split_unit(name)[0].lower() for name in names]
    found = {name: [i for i, other in enumerate(bare) if other == split_unit(name)[0].lower()] for name in wanted}
    for name, places in found.items():
        if len(places) > 1:
            raise UserError(f"{path} has {len(places)} columns called {name!r}: rename all but one.")
    missing = [name for name, places in found.items() if not places]
    if missing:
        called = " and ".join(map(repr, missing))
        taken = {i for places in found.values() for i in places}
        free = [name for i, name in enumerate(names) if i not in taken and not TIME.fullmatch(split_unit(name)[0])]
        raise UserError(
            f"{path} has no column{'s' * (len(missing) > 1)} called {called}, only {', '.join(names)[:200]}: "
            f"{_hint(missing[0], free or names, only=len(missing) == 1 and len(free) == 1)}"
        )
    return [found[name][0] for name in wanted]


def _hint(missing: str, others: Sequence[str], only: bool) -> str:
    """What to do about a missing column: rename the one with the closest name, or the only one that is left."""
    bare = [split_unit(other)[0].lower() for other in others]
    nearest = difflib.get_close_matches(missing.lower(), bare, 1, 0.5) or (bare if only and len(bare) == 1 else [])
    if not nearest:
        return f"rename the column that contains {missing!r}, add it, or name it with --columns {missing}=COLUMN."
    near = next(split_unit(other)[0] for other in others if split_unit(other)[0].lower() == nearest[0])
    unit = next((unit for unit in UNITS if near.endswith((f"_{unit}", f" {unit}"))), None)
    goal = f"{missing} [{unit}]" if unit else missing
    return f"did you mean {near!r}? Rename it to {goal!r} in the file, or use --columns {f'{goal}={near}'!r}."


def guess(names: Sequence[str], positions: Sequence[str], inputs: Sequence[str], angles: Sequence[str]) -> Channels:
    """The channels of columns called `names`: those that are given, and the others guessed by their names.

    Args:
        names: The names of all columns.
        positions: The names of the positions; guessed if empty.
        inputs: The names of the inputs; guessed if empty.
        angles: The names of the positions that are angles; guessed if empty.

    Raises:
        UserError: If positions and inputs cannot be guessed, or an angle is not a position.
    """
    time = time_column(names)
    others = [split_unit(name) for i, name in enumerate(names) if time is None or i != time[0]]
    if not inputs:
        inputs = [name for name, _ in others if INPUT.fullmatch(name) and name not in positions]
    if not positions:
        positions = [name for name, _ in others if name and name not in inputs]
    if not positions or not inputs:
        raise UserError(
            f"The names of the columns, {', '.join(names)[:200]}, do not show which are positions and which are "
            "inputs: name them with --positions and --inputs."
        )
    units = {name.lower(): unit for name, unit in others if unit}
    for angle in angles:
        if angle.lower() not in {p.lower() for p in positions}:
            raise unknown("position", angle, positions)
    given = {angle.lower() for angle in angles}
    return Channels(
        tuple(Position(p, _base(units.get(p.lower())), _is_angle(p, units, given)) for p in positions),
        tuple(Input(i, _base(units.get(i.lower())), np.inf) for i in inputs),
    )


def _base(unit: str | None) -> str:
    return converted(unit or "")[0]


def _is_angle(name: str, units: dict[str, str], given: set[str]) -> bool:
    if given:
        return name.lower() in given
    unit = units.get(name.lower())
    return _base(unit) == "rad" or (unit is None and ANGLE.fullmatch(name) is not None)
