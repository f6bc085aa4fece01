"""What a study is: configurations of one task, each run over many seeds, beside published numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vfpilco import tasks
from vfpilco.arguments import as_flags
from vfpilco.settings import Settings

Record = dict[str, Any]
"""A finished run in one object: configuration, settings, seed, results; a line of the results file."""


@dataclass(frozen=True)
class Configuration:
    """A row of a study."""

    name: str
    settings: dict[str, Any]
    """What differs from the task's own settings."""
    published: tuple[float, ...] = ()
    """Published success rates at trials 1, 2, …"""


@dataclass(frozen=True)
class Study:
    """Configurations of a task, how many trials each run has, and what is drawn of them."""

    name: str
    summary: str
    task: str
    trials: int
    configurations: tuple[Configuration, ...]
    figure: Callable[[Study, list[Record], Path], None]
    """Draws the study's figure from its records."""
    table: Callable[[Study, list[Record]], str]
    """The study's table, in Markdown."""
    records: str = ""
    """The name of the results file, where it is another study's."""
    published_runs: int = 50
    """How many runs the published numbers are of."""
    particles: int = 0
    """How many of the particles that predicted the last trial are kept beside it, for the figure."""

    @property
    def file(self) -> str:
        """The name of the results file."""
        return f"{self.records or self.name}.jsonl"

    def settings(self, configuration: Configuration) -> dict[str, Any]:
        """All settings of a configuration."""
        own = tasks.load(self.task).settings
        return dataclasses.asdict(dataclasses.replace(own, **configuration.settings))


@dataclass(frozen=True)
class Job:
    """One run of a study."""

    task: str
    trials: int
    configuration: str
    settings: dict[str, Any] = field(hash=False)
    seed: int = 0
    particles: int = 0

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{self.configuration}-seed{self.seed}"

    def is_of(self, record: Record) -> bool:
        """Whether `record` is of this run: same task, trials, seed and settings."""
        same = all(record.get(name) == getattr(self, name) for name in ("task", "trials", "seed"))
        return same and settings_of(record) == self.settings

    def arguments(self, out: Path) -> list[str]:
        """The command line that makes this run, or goes on with it."""
        flags = as_flags(self.settings, tasks.load(self.task).settings)
        fixed = ["--seed", str(self.seed), "--trials", str(self.trials), "--out", str(out)]
        return ["learn", self.task, *fixed, *flags, "--resume", "--json", "--no-report"]


def settings_of(record: Record) -> dict[str, Any]:
    """The settings of a run; those that did not exist yet had no effect."""
    return {**dataclasses.asdict(Settings.recorded({})), **record["settings"]}


def jobs(study: Study, seeds: int) -> list[Job]:
    """Every run of a study, seed by seed, so that all configurations grow together."""
    chosen = [(c.name, study.settings(c)) for c in study.configurations]
    fixed = (study.task, study.trials)
    return [Job(*fixed, name, s, seed, study.particles) for seed in range(seeds) for name, s in chosen]
