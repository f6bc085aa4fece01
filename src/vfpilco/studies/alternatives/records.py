"""The results file: a line of JSON for every run of an alternative."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file
from vfpilco.common.versions import Computer
from vfpilco.data.records import from_json_types, to_json_types


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

    @property
    def name(self) -> str:
        """What it is of, in one word."""
        return f"{self.task}-{self.method}-seed{self.seed}"


def read(file: Path) -> list[AlternativeRecord]:
    """The records of a results file; none if there is no such file.

    Raises:
        UserError: If a line of it is not the record of a run.
    """
    lines = file.read_text().splitlines() if file.exists() else []
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(from_json_types(json.loads(line), AlternativeRecord))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{file} is damaged in line {number} ({error}): fix or remove the line.") from error
    return records


def append(file: Path, record: AlternativeRecord) -> None:
    """Add a record to a results file."""
    before = file.read_bytes() if file.exists() else b""
    write_file(file, before + json.dumps(to_json_types(record)).encode() + b"\n")
