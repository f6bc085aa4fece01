"""run.json: what a run is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vfpilco.common.checks import check_integer
from vfpilco.common.versions import Computer
from vfpilco.tasks.machine import Input, Position
from vfpilco.tasks.task import Task

MOST_SAMPLES, MOST_CHANNELS, MOST_VALUE = 10_000_000, 1000, 1e15
"""The longest trial, the most positions or inputs, and the largest number in a task."""


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

    def __post_init__(self) -> None:
        check_integer("horizon", self.horizon, 1, MOST_SAMPLES)
        check_integer("explorations", self.explorations, 0, MOST_SAMPLES)
        for what, each in (("position", self.positions), ("input", self.inputs)):
            names = [one.name for one in each]
            if not 0 < len(names) <= MOST_CHANNELS or len(set(names)) != len(names):
                raise ValueError(f"the task needs different names of {what}s, got {names[:5]}")
        for name, value in (
            ("sampling time", self.sampling_time),
            *((f"limit of {i.name}", i.limit) for i in self.inputs),
            *((f"scale of {p.name}", p.scale) for p in self.positions),
        ):
            if not 0 < value < MOST_VALUE:
                raise ValueError(f"the {name} is {value}")
        commands = [p.commanded for p in self.positions]
        if None not in commands or not set(commands) <= {None, *(i.name for i in self.inputs)}:
            raise ValueError(f"the positions are commanded by {commands[:5]}")

    def differences(self, other: TaskDescription) -> list[str]:
        """The names of the fields that differ."""
        return [f"task.{name}" for name, value in vars(self).items() if getattr(other, name) != value]


def ended(successes: Sequence[bool], trials: int, until_successes: int) -> bool:
    """Whether a run whose trials had these successes has come to its end."""
    last = list(successes[-until_successes:]) if until_successes else []
    return len(successes) >= trials or bool(until_successes and last == [True] * until_successes)


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
    until_successes: int = 0
    """It ends earlier, after so many successes in a row; 0: never."""
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
    target: list[float | None] | None = None
    """Where every position should end, if the task says so; None where any value is good."""
    drawing: str | None = None
    """The built-in machine whose drawing shows this one; any other drawing is stored in `scenes`."""
    format: int = 5
    """The version of the file."""

    def ended(self, successes: Sequence[bool]) -> bool:
        """Whether the run has come to its end, with these successes of its trials."""
        return ended(successes, self.trials, self.until_successes)

    def __post_init__(self) -> None:
        check_integer("seed", self.seed, 0, 2**63 - 1)
        check_integer("trials", self.trials, 1, MOST_SAMPLES)
        check_integer("until_successes", self.until_successes, 0)
        if self.target is not None:
            numbers = [value for value in self.target if value is not None]
            if len(self.target) != len(self.task.positions) or not all(abs(value) < MOST_VALUE for value in numbers):
                raise ValueError(f"the target is {self.target[:5]}")
