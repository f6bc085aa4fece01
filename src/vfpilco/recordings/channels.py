"""Which columns of a recording are time, positions and inputs: as a task says, as the user says, or guessed by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfpilco.errors import UserError, unknown
from vfpilco.task import Input, Position, Task

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "millis": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
SECONDS |= {"micros": 1e-6, "ns": 1e-9}
"""How long a unit of time is."""
UNITS: dict[str, tuple[str, float]] = dict.fromkeys(("deg", "°", "degree", "degrees"), ("rad", np.pi / 180))
UNITS |= {"mm": ("m", 1e-3), "cm": ("m", 1e-2), "mV": ("V", 1e-3), "mA": ("A", 1e-3), "mN": ("N", 1e-3)}
"""Units that are turned into another one."""
TIME = re.compile(r"(t|time|times|time[ _-]?stamp|elapsed|seconds|millis|micros)([ _]?(?:s|sec|ms|us|µs|μs|ns))?", re.I)
INPUT = re.compile(r"(u\d*|u_.*|input.*|volt.*|current.*|torque.*|force.*|cmd.*|command.*|control.*|pwm.*)", re.I)
ANGLE = re.compile(r"(.*angle.*|alpha.*|beta.*|theta.*|phi.*|psi.*|.*pendulum.*|.*pole.*|joint.*)", re.I)


@dataclass(frozen=True)
class Channels:
    """The positions and inputs that a recording should hold, and what is known of its samples."""

    positions: tuple[Position, ...]
    inputs: tuple[Input, ...]
    sampling_time: float | None = None
    horizon: int | None = None
    memory: int = 2
    """The longest memory of the method: so many samples come before the first that is learned from."""

    @classmethod
    def of(cls, task: Task) -> Channels:
        """What a task says."""
        memory = max(task.settings.m_q, task.settings.m_u)
        return cls(task.positions, task.inputs, task.sampling_time, task.horizon, memory)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles."""
        return tuple(p.angle for p in self.positions)

    @property
    def limits(self) -> np.ndarray:
        """The largest magnitude of each input; infinite where it is not known."""
        return np.array([i.limit for i in self.inputs])


def plain(name: str) -> tuple[str, str | None]:
    """A column's name without quotes and unit, and the unit in brackets if there is one."""
    found = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]", name.strip())
    return (found[1].strip(), found[2]) if found and found[1].strip() else (name.strip(), None)


def time_column(names: Sequence[str]) -> tuple[int, float | None] | None:
    """Where the time stands and the seconds of its unit (None if not said); None if no column is called like it."""
    for i, name in enumerate(names):
        bare, unit = plain(name)
        found = TIME.fullmatch(bare)
        if found:
            unit = unit or (found[2] or "").strip(" _") or (bare if bare.lower() in SECONDS else "")
            return i, SECONDS.get(unit.lower()) if unit else None
    return None


def columns_of(wanted: Sequence[str], names: Sequence[str], path: object) -> list[int]:
    """Where the columns called so stand, whatever their case and unit; missing ones are told, with the nearest name."""
    bare = [plain(name)[0].lower() for name in names]
    found = {name: [i for i, other in enumerate(bare) if other == plain(name)[0].lower()] for name in wanted}
    for name, places in found.items():
        if len(places) > 1:
            raise UserError(f"{path} has {len(places)} columns called {name!r}: rename all but one.")
    missing = [name for name, places in found.items() if not places]
    if missing:
        called = " and ".join(map(repr, missing))
        raise UserError(
            f"{path} has no column{'s' * (len(missing) > 1)} called {called}, but {', '.join(names)[:200]}: "
            f"{_hint(missing[0], names)}"
        )
    return [found[name][0] for name in wanted]


def _hint(missing: str, others: Sequence[str]) -> str:
    """What to do about a column that is missing: rename the one with the nearest name."""
    nearest = difflib.get_close_matches(missing.lower(), [plain(other)[0].lower() for other in others], 1, 0.5)
    if not nearest:
        return f"rename the one that is {missing!r}, or add it."
    near = next(plain(other)[0] for other in others if plain(other)[0].lower() == nearest[0])
    unit = next((unit for unit in UNITS if near.endswith((f"_{unit}", f" {unit}"))), None)
    return f"did you mean {near!r}? Call it {(f'{missing} [{unit}]' if unit else missing)!r} in the file."


def guess(names: Sequence[str], positions: Sequence[str], inputs: Sequence[str], angles: Sequence[str]) -> Channels:
    """Channels by what was said and, where nothing was, by the names of the columns."""
    time = time_column(names)
    others = [plain(name) for i, name in enumerate(names) if time is None or i != time[0]]
    if not inputs:
        inputs = [name for name, _ in others if INPUT.fullmatch(name) and name not in positions]
    if not positions:
        positions = [name for name, _ in others if name and name not in inputs]
    if not positions or not inputs:
        raise UserError(
            f"It cannot be told by name which of the columns {', '.join(names)[:200]} are positions and which are "
            "inputs: say so with --positions and --inputs."
        )
    units = {name.lower(): unit for name, unit in others if unit}
    for angle in angles:
        if angle.lower() not in {p.lower() for p in positions}:
            raise unknown("position", angle, positions)
    said = {angle.lower() for angle in angles}
    return Channels(
        tuple(Position(p, _base(units.get(p.lower())), _is_angle(p, units, said)) for p in positions),
        tuple(Input(i, _base(units.get(i.lower())), np.inf) for i in inputs),
    )


def converted(unit: str) -> tuple[str, float]:
    """The unit that a unit is turned into, and by which factor; itself if it is kept."""
    return UNITS.get(unit) or UNITS.get(unit.lower()) or (unit, 1.0)


def _base(unit: str | None) -> str:
    return converted(unit or "")[0]


def _is_angle(name: str, units: dict[str, str], said: set[str]) -> bool:
    if said:
        return name.lower() in said
    unit = units.get(name.lower())
    return _base(unit) == "rad" or (unit is None and ANGLE.fullmatch(name) is not None)
