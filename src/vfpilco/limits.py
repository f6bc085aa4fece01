"""What an input may do: how far it may go, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Slew:
    """A limit on how much every input changes from one sample to the next; a trial begins at zero."""

    most: tuple[float, ...]

    def __call__(self, u: Any, before: Any) -> Any:
        """The inputs (…, d_u) nearest to `u` that may follow those `before`; NumPy or JAX arrays."""
        xp = u.__array_namespace__()
        most = xp.asarray(self.most, dtype=u.dtype)
        return xp.clip(u, before - most, before + most)


def slew_of(share: float, limits: np.ndarray) -> Slew | None:
    """The limit that is this share of u_max per sample; none if the share is 0."""
    return Slew(tuple(float(share * limit) for limit in limits)) if share else None


GENTLE_TRIALS = 3
"""The trial from which on a gentle run uses its inputs up to their limits."""


def gentleness(gentle: float, trial: int) -> float:
    """The share of u_max that a trial may use: `gentle` in the exploration (trial 0), all from the third one on."""
    return gentle + (1 - gentle) * min(trial / GENTLE_TRIALS, 1.0)
