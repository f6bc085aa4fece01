"""The results file: a line of JSON for every run of an alternative."""

from __future__ import annotations

from dataclasses import dataclass, field

from vfpilco.common.versions import Computer


@dataclass(frozen=True)
class Attempt:
    """How far a method got on a task."""

    solved: bool
    """Whether an execution succeeded before the method was cut off."""
    experience_s: float
    """Seconds of data that the policy of the first success was learned from; all of them if there was none."""
    minutes: float
    """Minutes of computing until then; the machine's own time is not included."""
    executions: int
    """Executions on the machine until then, that of the first success included."""


@dataclass(frozen=True)
class AlternativeRecord:
    """A finished run: a line of the results file."""

    method: str
    task: str
    seed: int
    attempt: Attempt
    versions: dict[str, str] = field(default_factory=dict)
    machine: Computer | None = None
    """The computer that it was made on."""
