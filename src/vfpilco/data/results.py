"""What is recorded about every trial: a line of results.jsonl each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vfpilco.data.risk import Risk


@dataclass(frozen=True)
class CostBand:
    """A predicted cost: its mean and its 95 % band over the particles."""

    mean: float
    low: float
    high: float

    def contains(self, cost: float) -> bool:
        """Whether `cost` lies within the band."""
        return self.low <= cost <= self.high


@dataclass(frozen=True)
class Forecast:
    """What is predicted of a trial before it is executed."""

    predicted_cost: CostBand
    """What it costs."""
    success_chance: float | None
    """The probability of success; None if the task has no success test."""
    risk: Risk
    """The risk of leaving safe ranges, and how far and how fast the machine moves."""


@dataclass(frozen=True)
class PosteriorReport:
    """Which GP posterior was used, and what its projection on inducing points lost."""

    kind: Literal["exact", "projected"]
    points: int
    """Training points."""
    inducing: int | None = None
    """Inducing points of a projected posterior."""
    directions: int | None = None
    """Directions that the variance of a projected posterior is kept in."""
    excess_error: list[float] = field(default_factory=list)
    """By what fraction the one-step error is larger than that of the exact posterior, per position."""
    lost_log_density: list[float] = field(default_factory=list)
    """Log density lost against the exact posterior, nats per sample and position."""


@dataclass(frozen=True)
class ModelReport:
    """How good the model was on a trial it had not seen; lists have one entry per GP or position."""

    noise: list[float]
    """Standard deviation of the noise found on each Δq, in its unit."""
    lengthscales: list[list[float | None]]
    """Lengthscales of each GP in the units of its inputs; None where they are infinite."""
    one_step_error: list[float | None]
    """Root mean square error one sample ahead; None if the trial was too short."""
    multi_step_error: list[float | None]
    """Root mean square error ten samples ahead."""
    posterior: PosteriorReport | None = None
    rounding: list[float] = field(default_factory=list)
    """The smallest variance that float32 resolves, relative to that of the noise."""


@dataclass(frozen=True)
class Evaluated:
    """Cost and success of a trial, and the task's own measures."""

    cost: float
    """The task's cost, summed over the trial."""
    success: bool
    """Whether the trial solved the task; False if it ended early."""
    measures: dict[str, float] = field(default_factory=dict)
    """The task's measures, by name."""


Cause = Literal["as predicted", "model", "uncertain model", "policy", "noise"]
"""Why a trial went as it did: as predicted, the model was wrong or uncertain, the policy not good enough, or noise."""


@dataclass(frozen=True)
class Explanation:
    """Why a trial of a policy went as it did, and what the next one changes."""

    cause: Cause
    """As predicted; or the model was wrong, or uncertain; the policy was not good enough; noise decided."""
    words: str
    """What was predicted, what happened, and why, in a sentence."""
    next: str = ""
    """What the next trial changes, in a sentence."""
    position: str | None = None
    """The position that left its predicted band first, if one did."""
    time_s: float | None = None
    """When it did."""

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.words} {self.next}".rstrip()


@dataclass(frozen=True, kw_only=True)
class TrialResult(Evaluated):
    """A line of results.jsonl: one execution on the plant."""

    kind: Literal["explore", "policy"]
    """Whether the inputs came from the exploration or from a learned policy."""
    file: str = ""
    """The trial's CSV file, relative to the run folder."""
    trial: int | None = None
    """The number of the policy, from 1; None for an exploration."""
    experience_s: float
    """Seconds of data that the policy was learned from."""
    ended_s: float | None = None
    """When the trial ended, if it ended early."""
    ended: str = ""
    """Why it did, where that is known."""
    predicted_cost: CostBand | None = None
    """What the model predicted."""
    success_chance: float | None = None
    """The predicted probability of success: the fraction of the particles that succeeded."""
    risk: Risk | None = None
    """The predicted risk of leaving safe ranges, and how far and how fast the machine was predicted to move."""
    band_coverage: float | None = None
    """Fraction of the measured trajectory within the particles' 95 % band."""
    half_coverage: float | None = None
    """Fraction of it within their 50 % band."""
    band_width: list[float] = field(default_factory=list)
    """Mean width of the 95 % band, per position."""
    within_95: float | None = None
    """Fraction of the positions, speeds and inputs whose largest magnitude stayed within its 95 % quantile."""
    within_999: float | None = None
    """The same for the 99.9 % quantiles."""
    log_score: float | None = None
    """Mean log density of it, nats per sample and position, with the particles' mean and standard deviation."""
    model: ModelReport | None = None
    """How good the model was on this trial."""
    explanation: Explanation | None = None
    """Why it went as it did, and what the next trial changes."""
    notes: list[str] = field(default_factory=list)
    """What a person should know about this trial."""


@dataclass(frozen=True, kw_only=True)
class EpisodeResult(Evaluated):
    """One episode of an evaluation."""

    episode: int
    """From 1."""
    ended_s: float | None = None
    """When it ended, if it ended early."""
    ended: str = ""
    """Why it did, where that is known."""


@dataclass(frozen=True)
class Timing:
    """A line of timings.jsonl: the duration of a phase, or how punctual the samples of a trial were."""

    trial: int
    phase: str
    seconds: float = 0.0
    late_share: float | None = None
    """Fraction of the samples that came late, for a machine driven in real time."""
    latest_s: float | None = None
    """How late the latest sample was."""
    computing_median_s: float | None = None
    """How long the controller took, median."""
    computing_longest_s: float | None = None
    """How long the controller took at most."""
