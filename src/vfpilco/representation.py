"""State representations: what a method remembers, what its GPs and its policy see, how a prediction moves the state.

The trial loop, the particles and the controller are the same for all methods; a representation is what differs. Every
function takes NumPy or JAX arrays with any leading dimensions: the same lines serve the plant, the training set and
the particles.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from vfpilco.trial import Trial


class TrainingSet(NamedTuple):
    """GP inputs x̃, targets and prior means, row by row."""

    x: Float[np.ndarray, "N d_x"]
    y: Float[np.ndarray, "N d_q"]
    prior: Float[np.ndarray, "N d_q"]

    @staticmethod
    def join(parts: list[TrainingSet]) -> TrainingSet:
        """All trials' pairs in one set."""
        return TrainingSet(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


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
        """What the GPs expect before seeing data."""
        ...

    def advance(self, state: Any, u: Any, change: Any, /) -> Any:
        """The state one sample later, after the predicted change."""
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

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃, x*'s first: "position", "circle" (sine or cosine), "rate" or "input"."""
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
