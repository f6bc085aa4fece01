"""The machine: what is measured, what is applied, how it is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError
from vfpilco.drawing.shapes import Scene
from vfpilco.tasks.plant import Plant
from vfpilco.tasks.realtime import RealTime
from vfpilco.tasks.sensors import Sensor, Undeclared

PLAUSIBLE = 1e9
"""How many times its scale a position may measure: encoders that count have large values, but no sensor has these."""


@dataclass(frozen=True)
class Position:
    """A measured position.

    Example:
        >>> Position("pendulum", "rad", angle=True, safe=(-20.0, 20.0))  # doctest: +ELLIPSIS
        Position(name='pendulum', unit='rad', angle=True, ...)
    """

    name: str
    """The name of its column in CSV files."""
    unit: str
    """Its unit; angles are in rad."""
    angle: bool = False
    """Whether it is an angle: GPs and policy see its sine and cosine."""
    scale: float = 1.0
    """How far from zero it typically is, if it is not an angle: basis functions start within twice that."""
    commanded: str | None = None
    """The input that it follows exactly: q' = q + u. No GP is needed to predict such a position."""
    bounds: tuple[float, float] | None = None
    """Where a commanded position stops, and between which angles it stays."""
    safe: tuple[float, float] | None = None
    """Where it may go: a measurement outside stops the plant and ends the trial."""
    entry: int | tuple[int, int] | None = None
    """Its entry in a Gymnasium observation, or those of its sine and cosine; in the order of the positions if None."""
    variable: str | None = None
    """The name of its variable in an FMU; its own name if None."""
    plausible: tuple[float, float] | None = None
    """What its sensor can measure: anything else is a fault of the sensor, and the trial is not used. If not given, a
    thousand million times its scale, or times its bounds or safe range if they are larger."""

    @property
    def plausible_range(self) -> tuple[float, float]:
        """What its sensor can measure, as given or derived."""
        if self.plausible is not None:
            return self.plausible
        ends = [abs(end) for pair in (self.bounds, self.safe) if pair is not None for end in pair]
        most = PLAUSIBLE * max(self.scale, 1.0, *(end for end in ends if np.isfinite(end)))
        return -most, most


@dataclass(frozen=True)
class Input:
    """An input of the plant.

    Example:
        >>> Input("force", "N", limit=10.0).limit
        10.0
    """

    name: str
    """The name of its column in CSV files."""
    unit: str
    """Its unit."""
    limit: float
    """The largest magnitude allowed, u_max."""
    variable: str | None = None
    """The name of its variable in an FMU; its own name if None."""


@dataclass(frozen=True)
class Features:
    """Prior knowledge of the physics: functions of positions, rates and inputs that the change depends on.

    Kernels such as `SE() + Linear(on=("features",))` use them.

    Example:
        >>> gravity = Features(of=lambda q, rates, u: np.sin(q), count=1)
        >>> gravity.of(np.zeros((3, 1)), None, None).shape
        (3, 1)
    """

    of: Callable[[Any, Any, Any], Any]
    """`of(q, rates, u)` receives arrays (…, d), NumPy or JAX, and returns one (…, count); `rates` are the last
    position differences, or the velocities."""
    count: int
    """How many features there are."""


class Command(NamedTuple):
    """A position that follows an input, q' = q + u, and stops at its bounds: no GP is needed to predict it."""

    position: int
    input: int
    low: float
    high: float

    def reached(self, q: Any, u: Any) -> Any:
        """Where the position is one sample later, (…)."""
        wanted = q[..., self.position] + u[..., self.input]
        return wanted.__array_namespace__().clip(wanted, self.low, self.high)


@dataclass(frozen=True)
class Drawing:
    """How the machine is drawn; every part is optional.

    Example:
        >>> Drawing().scene is None
        True
    """

    scene: Callable[[np.ndarray], Scene] | None = None
    """The machine at positions (samples, d_q) as shapes in the plane, for reports and films; dials without one."""
    figure: Callable[[Any, np.ndarray, float], None] | None = None
    """Draws positions (T+1, d_q) at a given sampling time on a Matplotlib axis."""
    photograph: Callable[[np.ndarray], np.ndarray] | None = None
    """An image (height, width, 3) of the machine at the end of positions (T+1, d_q)."""
    name: str | None = None
    """The built-in machine that it belongs to: a report of a run finds it by this name. Any other one is stored with
    the run, shape by shape."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the machine is: how it is reached, what is measured and applied, and what its sensors do.

    Example:
        >>> import vfpilco
        >>> machine = vfpilco.task("cartpole").machine
        >>> [i.name for i in machine.inputs], round(1 / machine.sampling_time)
        (['force'], 30)
    """

    plant: Callable[[], Plant] | str | None
    """Makes or connects to the plant; or its address, `tcp://host:port`, `gym:ID` or `fmu:FILE`; None if it runs
    elsewhere."""
    positions: tuple[Position, ...]
    """What is measured, in order."""
    inputs: tuple[Input, ...]
    """What is applied, in order."""
    sampling_time: float
    """Seconds between samples."""
    sensor: Sensor = field(default_factory=Undeclared)
    """What the sensors do to the true positions; simulated in the particles. Found in the data if it is left out, or if
    the data clearly disagree."""
    features: Features | None = None
    """Prior knowledge of the physics, for kernels on `features`."""
    realtime: RealTime | None = None
    """For a machine that is driven in real time: how punctual its samples have to be."""
    drawing: Drawing = field(default_factory=Drawing)
    """How it is drawn."""

    @property
    def columns(self) -> list[str]:
        """The names of positions and inputs, as in the CSV files."""
        return [p.name for p in self.positions] + [i.name for i in self.inputs]

    @property
    def limits(self) -> np.ndarray:
        """u_max of every input."""
        return np.array([i.limit for i in self.inputs])

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles."""
        return tuple(p.angle for p in self.positions)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The positions that follow an input."""
        names = [i.name for i in self.inputs]
        return tuple(
            Command(i, names.index(p.commanded), *(p.bounds or (-np.inf, np.inf)))
            for i, p in enumerate(self.positions)
            if p.commanded is not None
        )

    def implausible(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Which positions no sensor can measure, in words; None if there are none."""
        found = []
        for p, value in zip(self.positions, q, strict=True):
            low, high = p.plausible_range
            if not np.isfinite(value):
                found.append(f"{p.name} = {value}")
            elif not low <= value <= high:
                found.append(f"{p.name} = {value:.4g} {p.unit}, outside its plausible range {low:.4g} to {high:.4g}")
        return " and ".join(found) or None

    def check_plausible(self, q: Float[np.ndarray, "samples d_q"], name: object) -> None:
        """Raise a `UserError` if a trial called `name` has a measurement that no sensor makes."""
        for i, row in enumerate(q):
            problem = self.implausible(row)
            if problem:
                raise UserError(f"{name} has {problem} at sample {i}: check the sensor, and leave the trial out.")

    def outside(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Which position is outside its safe range, in words; None if none is."""
        for p, value in zip(self.positions, q, strict=True):
            if p.safe is not None and not p.safe[0] <= value <= p.safe[1]:
                return f"{p.name} was {value:.4g} {p.unit}, outside its safe range {p.safe[0]:.4g} to {p.safe[1]:.4g}"
        return None
