"""One execution on the plant: what was measured and what was applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from vfpilco.common.text import count

LARGEST = 1e15
"""No measurement, input or time is larger: their squares are still numbers, in float32 too."""


@dataclass(frozen=True, repr=False)
class Trial:
    """T+1 measured positions and the T inputs applied between them.

    Example:
        >>> trial = Trial(np.zeros((91, 2)), np.zeros((90, 1)), 1 / 30)
        >>> trial.steps, round(trial.duration, 3)
        (90, 3.0)
    """

    q: Float[np.ndarray, "samples d_q"]
    """Measured positions; angles are unwrapped."""
    u: Float[np.ndarray, "steps d_u"]
    """Applied inputs."""
    sampling_time: float
    """Seconds between two samples."""
    true: Float[np.ndarray, "samples d_q"] | None = None
    """True positions, if the plant is a simulation that knows them."""
    velocity: Float[np.ndarray, "samples d_q"] | None = None
    """True velocities, likewise."""
    ended: str = field(default="", kw_only=True)
    """Why it ended early; empty if it did not, or if nobody knows."""
    reached: bool = field(default=False, kw_only=True)
    """Whether it ended early because it reached its goal."""

    def __repr__(self) -> str:
        known = "" if self.true is None else ", true positions known"
        return (
            f"Trial({count(self.steps, 'step')} of {self.sampling_time:.3g} s, {count(self.q.shape[1], 'position')}, "
            f"{count(self.u.shape[1], 'input')}{known})"
        )

    @property
    def steps(self) -> int:
        """The number of inputs applied, T."""
        return len(self.u)

    @property
    def duration(self) -> float:
        """Seconds of experience."""
        return self.steps * self.sampling_time

    def first(self, steps: int) -> Trial:
        """Its first `steps` steps."""
        known = (None if rows is None else rows[: steps + 1] for rows in (self.true, self.velocity))
        return Trial(self.q[: steps + 1], self.u[:steps], self.sampling_time, *known)

    def early(self, horizon: int) -> dict[str, Any]:
        """When and why it ended, for a result, if that was before `horizon` steps."""
        return {"ended_s": self.duration, "ended": self.ended} if self.steps < horizon else {}

    @property
    def evaluated(self) -> Float[np.ndarray, "samples d_q"]:
        """The positions that cost and success are computed from: the true ones where they are known."""
        return self.q if self.true is None else self.true


def unwrap(q: np.ndarray, before: np.ndarray, angles: tuple[bool, ...]) -> np.ndarray:
    """`q` with each angle shifted by full turns to within half a turn of the one before."""
    turns = np.round((q - before) / (2 * np.pi)) * np.asarray(angles)
    return q - 2 * np.pi * turns
