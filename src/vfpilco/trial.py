"""One execution on the plant: what was measured, what was applied."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Trial:
    """T+1 measured positions and the T inputs applied between them; `true` where the plant tells it."""

    q: Float[np.ndarray, "samples d_q"]
    u: Float[np.ndarray, "steps d_u"]
    sampling_time: float
    true: Float[np.ndarray, "samples d_q"] | None = None
    velocity: Float[np.ndarray, "samples d_q"] | None = None
    """The true velocities, likewise."""
    ended: str = field(default="", kw_only=True)
    """Why it was over before its time, just after it was executed."""

    @property
    def steps(self) -> int:
        """The number of inputs applied, T."""
        return len(self.u)

    @property
    def duration(self) -> float:
        """The seconds of experience this trial is worth."""
        return self.steps * self.sampling_time

    def first(self, steps: int) -> Trial:
        """Its first `steps` steps."""
        known = (None if rows is None else rows[: steps + 1] for rows in (self.true, self.velocity))
        return Trial(self.q[: steps + 1], self.u[:steps], self.sampling_time, *known)

    @property
    def judged(self) -> Float[np.ndarray, "samples d_q"]:
        """The positions a trial is judged on: the true ones where they are known."""
        return self.q if self.true is None else self.true


def unwrap(q: np.ndarray, before: np.ndarray, angles: tuple[bool, ...]) -> np.ndarray:
    """`q` with each angle moved by whole turns to within half a turn of the one before."""
    turns = np.round((q - before) / (2 * np.pi)) * np.asarray(angles)
    return q - 2 * np.pi * turns
