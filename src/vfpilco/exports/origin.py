"""Where an exported policy was learned: run, trial, task, seed, versions and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vfpilco.storage.header import RunHeader

GROUPS = ("model", "optimiser", "prediction", "limits")
"""The groups of settings whose fields are listed one by one."""


@dataclass(frozen=True)
class Origin:
    """Where a policy was learned."""

    run: str
    """The run folder."""
    trial: int
    """The trial that the policy was learned for."""
    task: str
    """The name of the task."""
    seed: int
    versions: dict[str, str]
    """The versions of Python and of the packages that the run was started with."""
    settings: dict[str, str | int | float]
    """Every setting by name; components as text."""

    def as_json(self) -> dict[str, Any]:
        """The same in JSON types."""
        return asdict(self)


def origin_of(run: Path, header: RunHeader, trial: int) -> Origin:
    """The origin of the policy of a trial."""
    return Origin(str(run), trial, header.task.name, header.seed, header.versions, flat_settings(header.settings))


def flat_settings(recorded: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Recorded settings of any format as one flat dictionary; settings that are not set are left out."""
    flat: dict[str, Any] = {}
    for name, value in recorded.items():
        flat |= dict(value) if name in GROUPS and isinstance(value, dict) else {name: value}
    flat.pop("type", None)
    return {name: _plain(value) for name, value in flat.items() if value is not None}


def _plain(value: Any) -> str | int | float:
    """A number or text unchanged; a described component as the Python expression that creates it."""
    return value if isinstance(value, str | int | float) else _expression(value)


def _expression(value: Any) -> str:
    if isinstance(value, dict):
        fields = ", ".join(f"{name}={_expression(entry)}" for name, entry in value.items() if name != "type")
        return f"{value.get('type', 'dict')}({fields})"
    if isinstance(value, list):
        entries = ", ".join(map(_expression, value))
        return f"({entries},)" if len(value) == 1 else f"({entries})"
    return repr(value)
