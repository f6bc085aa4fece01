"""Limits on inputs: how large they may be, and how fast they may change."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfpilco.common.checks import check_number
from vfpilco.common.errors import UserError


@dataclass(frozen=True)
class Slew:
    """A limit on how much every input changes from one sample to the next; a trial starts at zero."""

    most: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(0 <= most < float("inf") for most in self.most):
            raise UserError(f"A slew limit must be positive, got {self.most}.")

    def __call__(self, u: Any, before: Any) -> Any:
        """The inputs (…, d_u) nearest to `u` that may follow those `before`; NumPy or JAX arrays."""
        xp = u.__array_namespace__()
        most = xp.asarray(self.most, dtype=u.dtype)
        return xp.clip(u, before - most, before + most)


RAMP_TRIALS = 3
"""The trial from which on a gentle run uses its inputs up to their limits."""


@dataclass(frozen=True)
class InputLimits:
    """How carefully the machine is driven, in addition to its own limits."""

    gentle: float = 1.0
    """Fraction of the input limits used in the exploration; it grows to 1 in the third trial."""
    slew: float = 0.0
    """Largest change of an input from one sample to the next, as a fraction of its limit; 0: no limit."""
    abort_outside: float = 1.0
    """Stop a trial when a measurement leaves the band predicted with this probability, such as 0.999; 1: never."""
    max_risk: float = 1.0
    """Do not execute a policy whose predicted risk of leaving a safe range is above this, such as 0.05; 1: execute
    every policy."""
    first_share: float = 0.2
    """How large exploring inputs are at first, as a fraction of their full size; it grows to 1 while the machine stays
    calm. 1: they have their full size at once."""

    def __post_init__(self) -> None:
        check_number("abort_outside", self.abort_outside, 0.5, 1, "0.999 is typical, 1 never stops")
        check_number("max_risk", self.max_risk, 0, 1, "0.05 is typical, with 1 every policy is executed")
        if not (isinstance(self.gentle, numbers.Real) and 0 < self.gentle <= 1):
            raise UserError(f"gentle must be more than 0 and at most 1 (the full limits), got {self.gentle!r}.")
        if not (isinstance(self.first_share, numbers.Real) and 0 < self.first_share <= 1):
            raise UserError(f"first_share must be more than 0 and at most 1 (as drawn), got {self.first_share!r}.")
        if not (isinstance(self.slew, numbers.Real) and 0 <= self.slew <= 2):
            raise UserError(
                f"slew must be between 0 (no limit) and 2 (from one limit to the other), got {self.slew!r}."
            )

    def slew_limit(self, limits: np.ndarray) -> Slew | None:
        """The slew limit for inputs with these limits; None if there is none."""
        return Slew(tuple(float(self.slew * limit) for limit in limits)) if self.slew else None

    def share(self, trial: int) -> float:
        """The fraction of u_max that a trial may use: `gentle` in the exploration (trial 0), 1 from the third on."""
        return self.gentle + (1 - self.gentle) * min(trial / RAMP_TRIALS, 1.0)
