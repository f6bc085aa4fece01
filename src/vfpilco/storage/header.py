"""run.json: what a run is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vfpilco.common.versions import Computer
from vfpilco.tasks.machine import Input, Position
from vfpilco.tasks.task import Task


@dataclass(frozen=True)
class TaskDescription:
    """What run.json says about the task."""

    name: str
    positions: tuple[Position, ...]
    inputs: tuple[Input, ...]
    sampling_time: float
    horizon: int
    explorations: int = 1

    @staticmethod
    def of(task: Task) -> TaskDescription:
        """The description of a task."""
        machine = task.machine
        return TaskDescription(
            task.name,
            tuple(machine.positions),
            tuple(machine.inputs),
            float(machine.sampling_time),
            task.horizon,
            task.explorations,
        )

    def differences(self, other: TaskDescription) -> list[str]:
        """The names of the fields that differ."""
        return [f"task.{name}" for name, value in vars(self).items() if getattr(other, name) != value]


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    """The content of run.json."""

    task: TaskDescription
    task_file: str | None = None
    """The file that the task was read from; None for a built-in task or one made in Python."""
    plant: str | None = None
    """The address of a plant that replaced the machine's own."""
    settings: dict[str, Any]
    """The settings, described as JSON."""
    seed: int
    trials: int
    versions: dict[str, str] = field(default_factory=dict)
    machine: Computer | None = None
    """The computer that the run was started on."""
    external: bool = False
    """Whether its trials are executed elsewhere and added with `tell`."""
    summary: str = ""
    """What the task is, in one line."""
    measures: dict[str, str] = field(default_factory=dict)
    """The units of the task's measures, by name."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """The settings that a run of this task has by default, described as JSON."""
    drawing: str | None = None
    """The built-in machine whose drawing shows this one; any other drawing is stored in `scenes`."""
    format: int = 5
    """The version of the file."""
