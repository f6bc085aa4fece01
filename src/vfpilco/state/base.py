"""What a state representation is.

The trial loop, the particles and the controller are the same for all methods; what differs is the state
representation. Every function takes NumPy or JAX arrays with any leading dimensions, so the same lines serve the
plant, the training set and the particles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from vfpilco.common.checks import check_integer, check_number
from vfpilco.data.trial import Trial
from vfpilco.state.memory import Memory
from vfpilco.tasks.machine import Command, Features, Machine
from vfpilco.tasks.sensors import Sensor, std_at_rest

MOST = 1000
"""The most positions or inputs that a machine has."""


@dataclass(frozen=True)
class Signals:
    """What a state representation has to know about the machine.

    Example:
        >>> Signals(angles=(False, True), d_u=1).d_q
        2
    """

    angles: tuple[bool, ...]
    """Which positions are angles; they are seen as sine and cosine."""
    d_u: int
    """The number of inputs."""
    sampling_time: float = 1.0
    """Seconds between samples."""
    commands: tuple[Command, ...] = ()
    """The positions that follow an input and need no GP."""
    features: Features | None = None
    """Prior knowledge of the physics, as additional GP inputs."""
    std: tuple[float, ...] | None = None
    """Standard deviation of the sensor's error at rest, per position; None if it is unknown."""

    def __post_init__(self) -> None:
        check_integer("d_u", self.d_u, 1, MOST)
        check_integer("d_q", len(self.angles), 1, MOST)
        check_number("sampling_time", self.sampling_time, 0, float("inf"))

    @staticmethod
    def of(machine: Machine, sensor: Sensor | None = None) -> Signals:
        """The signals of a machine, measured by its own or by another sensor."""
        return Signals(
            machine.angles,
            len(machine.inputs),
            machine.sampling_time,
            machine.commands,
            machine.features,
            std_at_rest(sensor or machine.sensor, len(machine.positions)),
        )

    @property
    def d_q(self) -> int:
        """The number of positions."""
        return len(self.angles)

    @property
    def predicted(self) -> Any:
        """Which positions have a GP: an index for the last dimension."""
        return self.free if self.commands else slice(None)

    @property
    def free(self) -> list[int]:
        """The positions that are not commanded."""
        return [i for i in range(self.d_q) if i not in {command.position for command in self.commands}]

    @property
    def for_policy(self) -> Signals:
        """What is needed to run a policy; everything else serves the model."""
        return Signals(self.angles, self.d_u, self.sampling_time)


class Pairs(NamedTuple):
    """What is learned from a trial, row by row."""

    t: np.ndarray
    """The sample of each row."""
    state: Any
    """The states at these samples."""
    u: np.ndarray
    """The inputs applied there."""
    change: np.ndarray
    """What the GPs should predict, a column per GP."""


@runtime_checkable
class State(Protocol):
    """A state representation; subclass `VelocityFree`, `Filtered` or `FullState`, or implement all of it.

    A state is a frozen dataclass. `bind` gives it the machine's signals; before, it is only a choice of settings.

    Example:
        >>> from vfpilco import VelocityFree
        >>> VelocityFree(m_q=2, m_u=1).bind(Signals(angles=(False, True), d_u=1)).policy_kinds()
        ['position', 'circle', 'circle', 'rate', 'rate', 'rate', 'rate']
    """

    @property
    def signals(self) -> Signals:
        """The machine's signals; a `UserError` if the state is not bound."""
        ...

    @property
    def full_state(self) -> bool:
        """Whether true positions and velocities are measured, or positions through the sensor."""
        ...

    @property
    def longest_memory(self) -> int:
        """How many samples of a trial come before the first one that is learned from."""
        ...

    def bind(self, signals: Signals, /) -> State:
        """The same representation for a machine with these signals."""
        ...

    # -- the state of the dynamics -------------------------------------------------------------------------------

    def rest(self, q: Any, /) -> Any:
        """The state at rest in the positions `q`."""
        ...

    def positions(self, state: Any, /) -> Any:
        """The positions of a state."""
        ...

    def measured(self, state: Any, q: Any, /) -> Any:
        """What the controller receives when the sensor measures `q`."""
        ...

    def gp_input(self, state: Any, u: Any, /) -> Any:
        """x̃: what the GPs predict from."""
        ...

    def continued(self, state: Any, /) -> Any:
        """The change, a column per GP, if the last movement continues."""
        ...

    def advance(self, state: Any, u: Any, change: Any, /) -> Any:
        """The state one sample later, after the change that the GPs predict."""
        ...

    # -- what the controller remembers ---------------------------------------------------------------------------

    def begin(self, measured: Any, /) -> Any:
        """The memory after the first measurement, at rest."""
        ...

    def push(self, memory: Any, measured: Any, u: Any, /) -> Any:
        """The memory one sample later: `u` was applied and `measured` came in."""
        ...

    def policy_input(self, memory: Any, /) -> Any:
        """x*: what the policy sees."""
        ...

    def exported_memory(self) -> Memory:
        """The three functions above as data, for export; a `UserError` if they cannot be expressed that way."""
        ...

    # -- what is learned from ------------------------------------------------------------------------------------

    def rows(self, steps: int, /) -> int:
        """How many training pairs a trial of that length gives."""
        ...

    def states(self, trial: Trial, /) -> tuple[np.ndarray, Any]:
        """The samples of a trial whose state is known, and these states."""
        ...

    def pairs(self, trial: Trial, /) -> Pairs:
        """States, inputs and targets of one trial."""
        ...

    def error_weights(self, rate_gain: float, /) -> list[float] | None:
        """How the errors of the measurements t+1, t, t-1 add up in a target; None if their noise is independent.

        `rate_gain` is the derivative of the prior mean with respect to the last movement.
        """
        ...

    def least_noise(self, std: Sequence[float], /) -> list[float]:
        """The least standard deviation of every GP's noise when the sensor's is `std`; 0 if nothing is known."""
        ...

    def seen(self, state: Any, /) -> Any:
        """What the policy would see of a state without noise, for the units of its inputs."""
        ...

    def policy_kinds(self) -> list[str]:
        """The kind of every entry of x*: position, circle (sine or cosine), rate or input."""
        ...

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃: position, circle (sine or cosine), rate, input or feature."""
        ...


@runtime_checkable
class CanMove(Protocol):
    """A state representation whose trials may start in motion."""

    def moving(self, q: Any, v: Any, /) -> Any:
        """The state in the positions `q`, reached with the velocities `v` (per second) under zero inputs."""
        ...


def full_change(q: Any, u: Any, change: Any, signals: Signals) -> Any:
    """The change of every position: predicted ones as given, commanded ones as their inputs say."""
    if not signals.commands:
        return change
    xp, columns = q.__array_namespace__(), [q[..., 0]] * q.shape[-1]
    for k, i in enumerate(signals.free):
        columns[i] = change[..., k]
    for command in signals.commands:
        columns[command.position] = command.reached(q, u) - q[..., command.position]
    return xp.stack(columns, axis=-1)


def expand(q: Any, angles: tuple[bool, ...]) -> list[Any]:
    """The columns of positions, each angle as its sine and cosine."""
    xp = q.__array_namespace__()
    columns = []
    for i, angle in enumerate(angles):
        column = q[..., i : i + 1]
        columns += [xp.sin(column), xp.cos(column)] if angle else [column]
    return columns


def expanded_kinds(angles: tuple[bool, ...]) -> list[str]:
    """The kinds of the columns of `expand`."""
    return [kind for angle in angles for kind in (["circle"] * 2 if angle else ["position"])]
