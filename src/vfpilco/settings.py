"""Every setting of the method, in one place."""

from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from vfpilco.errors import UserError, unknown
from vfpilco.kernels import Form


@dataclass(frozen=True)
class Settings:
    """Settings of VF-MC-PILCO; a task may bring other defaults."""

    method: Literal["vf", "pms", "full-state"] = "vf"
    """VF-MC-PILCO; or a baseline: MC-PILCO4PMS with filters, or MC-PILCO with the true state of a simulated plant."""
    m_q: int = 2
    """Position memory: how many past positions the GPs and the policy see."""
    m_u: int = 1
    """Control memory: how many past inputs the GPs see."""
    inputs: Literal["differences", "naive"] = "differences"
    """Past positions as consecutive differences, or as they are."""
    prior_mean: Literal["zero", "constant-velocity"] = "constant-velocity"
    """What the GPs expect before seeing data: no movement, or the last movement again."""
    online: Literal["low-pass", "kalman"] = "low-pass"
    """pms: filter that estimates velocities for the policy."""
    offline: Literal["low-pass", "kalman"] = "low-pass"
    """pms: filter or smoother that estimates velocities for the model."""
    cutoff: float = 0.5
    """pms: cut-off frequency of the low-pass filters, as a share of half the sampling rate."""
    acceleration: float = 20.0
    """pms: acceleration that the Kalman filters expect (standard deviation, in units of a position per s²)."""
    kernel: str = "se * poly1(rates, inputs)"
    """Covariance function of the GPs; `se`, one lengthscale per input, is the paper's."""
    noise: Literal["white", "correlated"] = "correlated"
    """Noise of what the GPs learn from: each target's own, or made of the measurement errors that targets share."""
    jitter: float = 0.0
    """Standard deviation of sampling times, s: what moves is measured that much too early or too late."""
    inducing: int = 128
    """Inducing points of the GP posterior, if the last trial has more training points than this; 0: always exact."""
    sensor: str = "task"
    """The sensors' error: that of the task, or `noise:STD,STD,…` or `step:STEP,STEP,…`, a number for every position."""
    particles: int = 400
    """Particles simulated per gradient step."""
    persistence: float = 0.7
    """How much of a particle's model error carries over to the next step when a trial is predicted (not optimised)."""
    policy: Literal["rbf", "linear-rbf", "mlp"] = "rbf"
    """Squashed RBF network, one that also feeds back linearly, or a small neural network."""
    basis_functions: int = 200
    """Basis functions of an RBF network, or units per hidden layer of the neural network."""
    dropout: float = 0.25
    """Share of basis functions that each particle does without."""
    steps: int = 600
    """Gradient steps per trial, at most."""
    settled: float = 0.002
    """A phase of the optimisation ends early when the cost changes by less than this share in a fifth; 0: never."""
    learning_rate: float = 0.01
    """Adam's first step size."""
    final_learning_rate: float = 0.0025
    """Adam's last step size."""
    credit: float = 0.97
    """Share of a sample's gradient that reaches the sample before; below 1, costs far ahead count less (not exact)."""
    slew: float = 0.0
    """Most that an input changes from one sample to the next, as a share of its limit; 0: anything."""
    input_penalty: float = 0.0
    """Added to the cost of every sample while the policy is improved: this times the mean of (u / u_max)²."""
    gentle: float = 1.0
    """Share of the input limits used in the exploration; it grows to all of them in the third trial."""
    clip: float = 0.0
    """Gradients longer than so many times their usual length are shortened to that; 0: never."""
    precision: Literal["float32", "float64"] = "float32"
    """Precision of the particle simulation, float64 in any case where float32 would not do; GP algebra is float64."""
    shards: int = 2
    """Parts that the particles are split in, each on a core of its own; part of the result's identity."""

    @classmethod
    def recorded(cls, settings: dict[str, Any]) -> Settings:
        """Those of a run, as they were written down; it may be older than some of them."""
        return cls(**{"noise": "white", "credit": 1.0, **settings})

    def check(self, *, trials: int, seed: int, horizon: int) -> None:
        """Refuse what makes no sense, one sentence each."""
        for field in dataclasses.fields(self):
            choices = get_args(get_type_hints(type(self))[field.name])
            if choices and getattr(self, field.name) not in choices:
                raise unknown(f"{field.name} setting", str(getattr(self, field.name)), choices)
        Form(self.kernel).parts()
        least_of = dict.fromkeys(("m_q", "particles", "basis_functions", "steps", "shards"), 1)
        least_of |= {"m_u": 0, "inducing": 0}
        for name, least in least_of.items():
            whole(name, getattr(self, name), least)
        whole("trials", trials, 1)
        whole("seed", seed, 0, 2**63 - 1)
        if 0 < self.inducing < 8:
            raise UserError(f"inducing must be 0 (always exact) or at least 8, got {self.inducing}.")
        for name in (
            "dropout",
            "persistence",
            "settled",
            "cutoff",
            "acceleration",
            "jitter",
            "credit",
            "clip",
            "slew",
            "input_penalty",
            "gentle",
            "learning_rate",
            "final_learning_rate",
        ):
            if not isinstance(getattr(self, name), numbers.Real):
                raise UserError(f"{name} must be a number, got {getattr(self, name)!r}.")
        if max(self.m_q, self.m_u) >= horizon - 1:
            raise UserError(
                f"The memories m_q={self.m_q}, m_u={self.m_u} do not fit in a trial of {horizon} samples: shorten them."
            )
        if self.particles % self.shards:
            raise UserError(
                f"shards must divide particles, got {self.shards} and {self.particles}: change one of them."
            )
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout must be at least 0 and below 1, got {self.dropout}.")
        for name in ("persistence", "settled"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name} must be between 0 and 1, got {getattr(self, name)}.")
        if self.clip != 0 and not 1 < self.clip < float("inf"):
            raise UserError(f"clip must be 0 (never) or more than 1, got {self.clip}: 3 is usual.")
        if not 0 <= self.jitter < float("inf"):
            raise UserError(f"jitter must be 0 or a positive time in seconds, got {self.jitter}.")
        if not 0 < self.credit <= 1:
            raise UserError(f"credit must be more than 0 and at most 1 (exact gradients), got {self.credit}.")
        if not 0 < self.gentle <= 1:
            raise UserError(f"gentle must be more than 0 and at most 1 (all of the limits), got {self.gentle}.")
        if not 0 <= self.slew <= 2:
            raise UserError(f"slew must be between 0 (no limit) and 2 (from one limit to the other), got {self.slew}.")
        if not 0 <= self.input_penalty < float("inf"):
            raise UserError(f"input_penalty must be 0 or positive, got {self.input_penalty}: 0.01 is usual.")
        if not 0 < self.acceleration < float("inf"):
            raise UserError(f"acceleration must be positive, got {self.acceleration}.")
        for name in ("cutoff", "learning_rate", "final_learning_rate"):
            if not 0 < getattr(self, name) < 1:
                usual = 0.5 if name == "cutoff" else 0.01
                raise UserError(f"{name} must be between 0 and 1, got {getattr(self, name)}: {usual} is usual.")


def whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number within bounds."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:  # pyright: ignore
        raise UserError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    if most is not None and value > most:  # pyright: ignore[reportOperatorIssue]
        raise UserError(f"{name} must be a whole number of at most {most}, got {value!r}.")
