"""The settings of the policy optimisation and of predictions."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Literal

from vfpilco.common.checks import check_integer, check_number
from vfpilco.common.errors import UserError, unknown

PRECISIONS = ("float32", "float64")
STOP_RULES = ("gain", "drift")
DROPOUT_DRAWS = ("rollout", "step")


@dataclass(frozen=True)
class OptimiserSettings:
    """How a policy is optimised on the particles' expected cost."""

    particles: int = 100
    """Particles simulated per gradient step."""
    steps: int = 1000
    """Gradient steps per trial, at most."""
    first_steps: int = 0
    """Gradient steps in the first trial, at most; 0: as many as in every other one."""
    stop_rule: Literal["gain", "drift"] = "gain"
    """When a phase of the optimisation ends early: when many steps gain nothing that matters (`tolerance`), or by the
    rule of MC-PILCO's authors, when the cost has hardly drifted beside its noise for 200 steps. Then a phase has no
    number of steps of its own, and every trial begins with the first one."""
    tolerance: float = 0.05
    """A phase of the optimisation ends early when two fifths of its steps lower the expected cost by less than its
    noise, or by less than this fraction of the standard deviation of the cost of a single trial; 0: never."""
    learning_rate: float = 0.01
    """Adam's first step size."""
    final_learning_rate: float = 0.0025
    """Adam's last step size."""
    dropout: float = 0.25
    """Fraction of the basis functions that is dropped for each particle."""
    dropout_draw: Literal["rollout", "step"] = "rollout"
    """What is dropped is drawn once for a complete rollout, or again at every time step."""
    gradient_decay: float = 0.0
    """Factor on the gradient per sample that it is propagated back; below 1, costs far ahead count less (not exact); 0:
    the best of several, found by a race of short optimisations; 0.98 if there are too few steps for one."""
    clip: float = 3.0
    """Gradients longer than this many times their running mean length are shortened to that; 0: never."""
    input_penalty: float = 0.0
    """Weight of the mean of (u / u_max)², which is added to the cost of every sample during the optimisation."""
    input_change_penalty: float = 0.01
    """Weight of the mean of (Δu / u_max)², with Δu from sample to sample, relative to the cost of a sample of the
    explorations; it is added too, so that of equally good policies the one with quieter inputs is preferred."""
    risk_bound: float = 0.05
    """Particles that leave a safe range cost more during the optimisation, ever more while more than this fraction of
    them leave; 1: safe ranges are not part of the cost."""
    precision: Literal["float32", "float64"] = "float32"
    """Precision of the particle simulation; float64 is used where float32 is not enough. GP algebra is float64."""
    shards: int = 2
    """Parts that the particles are split into, one per core; another number gives other results."""

    def __post_init__(self) -> None:
        for name in ("particles", "steps", "shards"):
            check_integer(name, getattr(self, name), 1)
        check_integer("first_steps", self.first_steps, 0)
        if self.particles % self.shards:
            raise UserError(
                f"shards must divide particles, got {self.shards} and {self.particles}: change one of them."
            )
        if not (isinstance(self.dropout, numbers.Real) and 0 <= self.dropout < 1):
            raise UserError(f"dropout must be at least 0 and below 1, got {self.dropout!r}.")
        check_number("tolerance", self.tolerance, 0, 1)
        for name in ("learning_rate", "final_learning_rate"):
            rate = getattr(self, name)
            if not (isinstance(rate, numbers.Real) and 0 < float(rate) < 1):
                raise UserError(f"{name} must be between 0 and 1, got {rate!r}: 0.01 is typical.")
        if not (isinstance(self.gradient_decay, numbers.Real) and 0 <= self.gradient_decay <= 1):
            raise UserError(
                f"gradient_decay must be between 0 (the best of several) and 1 (exact gradients), got "
                f"{self.gradient_decay!r}."
            )
        if not (isinstance(self.clip, numbers.Real) and (self.clip == 0 or 1 < self.clip < float("inf"))):
            raise UserError(f"clip must be 0 (never) or more than 1, got {self.clip!r}: 3 is typical.")
        check_number("input_penalty", self.input_penalty, 0, float("inf"), "0.01 is typical")
        check_number("input_change_penalty", self.input_change_penalty, 0, float("inf"), "0.01 is typical")
        check_number("risk_bound", self.risk_bound, 0, 1, "0.05 is typical, with 1 safe ranges do not matter")
        for name, choices in (("precision", PRECISIONS), ("stop_rule", STOP_RULES), ("dropout_draw", DROPOUT_DRAWS)):
            if getattr(self, name) not in choices:
                raise unknown(name, str(getattr(self, name)), choices)

    def for_trial(self, trial: int) -> OptimiserSettings:
        """The settings of one trial."""
        return replace(self, steps=self.first_steps) if trial == 1 and self.first_steps else self
