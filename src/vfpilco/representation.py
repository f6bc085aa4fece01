"""State representations: what a method remembers, what its GPs and its policy see, how a prediction moves the state.

The trial loop, the particles and the controller are the same for all methods; a representation is what differs. Every
function takes NumPy or JAX arrays with any leading dimensions: the same lines serve the plant, the training set and
the particles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag

from vfpilco.memory import Memory
from vfpilco.trial import Trial


class TrainingSet(NamedTuple):
    """GP inputs x̃, targets and prior means, row by row; a column for every position that a GP predicts."""

    x: Float[np.ndarray, "N d_x"]
    y: Float[np.ndarray, "N J"]
    prior: Float[np.ndarray, "N J"]
    mixing: Float[np.ndarray, "C N E"] | None = None
    """How measurement errors, column by column, add up to the noise of the targets: a matrix for each column of `y`, or
    one for all; None: every target has noise of its own."""

    @staticmethod
    def join(parts: list[TrainingSet]) -> TrainingSet:
        """All trials' pairs in one set; trials have no measurement in common."""
        mixing = [part.mixing for part in parts if part.mixing is not None]
        x, y, prior = (np.concatenate(column) for column in zip(*(part[:3] for part in parts), strict=True))
        joints = [np.asarray(block_diag(*of_joint)) for of_joint in zip(*mixing, strict=True)]
        return TrainingSet(x, y, prior, np.stack(joints) if joints else None)


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


def predicted(positions: int, commands: Sequence[Command]) -> list[int]:
    """The positions that GPs predict: all that are not commanded."""
    return [i for i in range(positions) if i not in {command.position for command in commands}]


def whole_change(q: Any, u: Any, change: Any, commands: Sequence[Command]) -> Any:
    """The change of every position: of the predicted ones as given, of the commanded ones as their inputs say."""
    if not commands:
        return change
    xp, columns = q.__array_namespace__(), [q[..., 0]] * q.shape[-1]
    for k, i in enumerate(predicted(q.shape[-1], commands)):
        columns[i] = change[..., k]
    for command in commands:
        columns[command.position] = command.reached(q, u) - q[..., command.position]
    return xp.stack(columns, axis=-1)


@dataclass(frozen=True)
class Features:
    """What a person knows of the physics: functions of positions, movement and inputs that matter for the change.

    `of(q, rates, u)` is given arrays (…, d), NumPy or JAX, and returns one (…, count); `rates` are the last differences
    or the velocities.
    """

    of: Callable[[Any, Any, Any], Any]
    count: int


@runtime_checkable
class Representation(Protocol):
    """What a method makes of positions and inputs."""

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles (seen as sine and cosine)."""
        ...

    @property
    def d_u(self) -> int:
        """The number of inputs."""
        ...

    @property
    def commands(self) -> tuple[Command, ...]:
        """The positions that follow an input."""
        ...

    @property
    def full_state(self) -> bool:
        """Whether true positions and velocities are measured, or positions through the sensor."""
        ...

    @property
    def d_q(self) -> int:
        """The number of positions."""
        ...

    # -- the state of the dynamics -------------------------------------------------------------------------------

    def rest(self, q: Any, /) -> Any:
        """The state at rest in the positions `q`."""
        ...

    def positions(self, state: Any, /) -> Any:
        """The positions of a state."""
        ...

    def measured(self, state: Any, e: Any, /) -> Any:
        """What is measured of a state when the sensor's error is `e`."""
        ...

    def gp_input(self, state: Any, u: Any, /) -> Any:
        """x̃: what the GPs predict from."""
        ...

    def prior_mean(self, state: Any, /) -> Any:
        """What the GPs expect before seeing data, a column for every GP."""
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

    def remembered(self) -> Memory:
        """The three above, spelled out for other programs."""
        ...

    # -- what is learned from ------------------------------------------------------------------------------------

    def rows(self, steps: int, /) -> int:
        """How many training pairs a trial of that length gives."""
        ...

    def states(self, trial: Trial, /) -> tuple[np.ndarray, Any]:
        """The samples of a trial whose state is known, and these states."""
        ...

    def training_set(self, trial: Trial, /) -> TrainingSet:
        """GP inputs and targets of one trial."""
        ...

    def least_noise(self, noise: Sequence[float], /) -> list[float]:
        """What the noise of every GP's targets is at least when the sensors have this `noise`; 0: nothing is known."""
        ...

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃, x*'s first: position, circle (sine or cosine), rate, input or feature."""
        ...


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
