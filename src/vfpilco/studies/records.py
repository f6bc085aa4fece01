"""The results file of a study: a line of JSON for every finished run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vfpilco.common.files import read_json_lines, write_file
from vfpilco.common.versions import Computer
from vfpilco.data.records import Record, from_json_types, to_json_types
from vfpilco.data.results import TrialResult


@dataclass(frozen=True)
class PolicyTests:
    """Executions of one policy after the run, from other starts."""

    success: list[bool]
    """Whether each of them succeeded."""
    measures: dict[str, list[float]]
    """The task's measures of each, by name."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A finished run: a line of the results file."""

    configuration: str
    """The name of its configuration in the study."""
    task: str
    trials: int
    seed: int
    settings: dict[str, Any]
    """The settings as in run.json; flat in records of format 3."""
    versions: dict[str, str] = field(default_factory=dict)
    machine: Computer | None = None
    """The computer that it was made on."""
    seconds: float = 0.0
    """How long it took."""
    results: list[TrialResult]
    """The lines of its results.jsonl."""
    m_u: int | None = None
    """The control memory of the last model; None if it has none."""
    chatter: list[float] = field(default_factory=list)
    """Mean |Δu| in the last second of every trial, as a fraction of the input limits; not in older records."""
    one_step_errors: list[list[float]] = field(default_factory=list)
    """Absolute errors of the last model one sample ahead on the last trial, a list for every position."""
    paths: list[list[list[float]]] = field(default_factory=list)
    """The path of every execution, as the study defines it."""
    tests: list[PolicyTests] = field(default_factory=list)
    """Further executions of every policy."""
    test_paths: list[list[list[float]]] = field(default_factory=list)
    """The positions in every further execution of the last policy."""
    last_trial: list[list[float]] = field(default_factory=list)
    """The measured positions in the last trial, if there are further executions."""
    executed: list[list[float]] = field(default_factory=list)
    """The positions in the last trial, true ones where they are known, if particles are kept."""
    particles: list[list[list[float]]] = field(default_factory=list)
    """Some of the particles that predicted the last trial: samples, particles, positions."""


def read(file: Path) -> list[RunRecord]:
    """The records of a results file; none if there is no such file.

    Raises:
        UserError: If it cannot be read, or a line of it is not the record of a run.
    """
    return read_lines(file, RunRecord)


def read_lines(file: Path, cls: type[Record]) -> list[Record]:
    """The records of a class in a file, a line each, as `read` reads those of runs."""
    return read_json_lines(file, lambda row: from_json_types(row, cls)) if file.exists() else []


def append(file: Path, record: Any) -> None:
    """Add a record to a results file; the lines before it stay the same, byte for byte."""
    before = file.read_bytes() if file.exists() else b""
    separator = b"" if not before or before.endswith(b"\n") else b"\n"
    write_file(file, before + separator + json.dumps(to_json_types(record)).encode() + b"\n")
