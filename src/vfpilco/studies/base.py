"""What a study is: configurations of a task, or several tasks, each run with many seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.machines.load import load
from vfpilco.studies.records import RunRecord
from vfpilco.tasks.task import Task
from vfpilco.trials.options import recorded_settings
from vfpilco.trials.settings import Settings

load_task = cache(load)
"""A study's task by name, loaded once."""


@dataclass(frozen=True)
class Configuration:
    """A row of a study."""

    name: str
    settings: Mapping[str, Any]
    """Keyword arguments of `learn` that differ from the task's own settings."""
    published: tuple[float, ...] = ()
    """Published success rates at trials 1, 2, …"""
    task: str = ""
    """Its task, if it is not that of the study."""


@dataclass(frozen=True)
class Study:
    """Configurations, how many trials each run has, and how their results are shown."""

    name: str
    summary: str
    task: str
    """The name of a built-in task, or of a task file; that of every configuration without one of its own."""
    trials: int
    configurations: tuple[Configuration, ...]
    figure: Callable[[Study, list[RunRecord], Path], None]
    """Draws the study's figure from its records."""
    table: Callable[[Study, list[RunRecord]], str]
    """The study's table, in Markdown."""
    records: str = ""
    """The study whose results file is used; its own if empty."""
    published_runs: int = 50
    """The number of runs behind the published numbers, and of ours if it is not given."""
    path: Callable[[np.ndarray], np.ndarray] | None = None
    """What is kept of the positions (samples, d_q) of every execution, for the figure."""
    tests: int = 0
    """How many times every policy is executed again after the run, from other starts."""
    particles: int = 0
    """How many of the particles that predicted the last trial are kept, for the figure."""
    folder: str = ""
    """The folder of its task files, if it needs some."""
    until_successes: int = 0
    """A run ends earlier, after so many successes in a row; 0: after all trials."""

    @property
    def file(self) -> str:
        """The name of the results file."""
        return f"{self.records or self.name}.jsonl"

    def task_of(self, configuration: Configuration) -> str:
        """The name of the task of a configuration."""
        return configuration.task or self.task

    def settings(self, configuration: Configuration) -> Settings:
        """All settings of a configuration."""
        task = load_task(self.task_of(configuration))
        return Settings().replace(**task.settings).replace(**configuration.settings)


@dataclass(frozen=True)
class Job:
    """One run of a study."""

    study: Study
    configuration: Configuration
    seed: int = 0

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{self.configuration.name}-seed{self.seed}"

    @property
    def task(self) -> str:
        """The name of the run's task."""
        return self.study.task_of(self.configuration)

    @property
    def settings(self) -> Settings:
        """All settings of the run."""
        return self.study.settings(self.configuration)

    def is_of(self, record: RunRecord) -> bool:
        """Whether `record` is of this run: same task, trials, seed and settings."""
        wanted = (self.task, self.study.trials, self.seed)
        if wanted != (record.task, record.trials, record.seed):
            return False
        return self.settings == settings_of(record, load_task(self.task))


def settings_of(record: RunRecord, task: Task) -> Settings | None:
    """The settings of a run of `task`; None if this version does not know one of them."""
    try:
        return recorded_settings(record.settings, task.machine, task.settings)
    except UserError:
        return None


def jobs(study: Study, seeds: int) -> list[Job]:
    """Every run of a study, seed by seed, so that all configurations grow together."""
    return [Job(study, configuration, seed) for seed in range(seeds) for configuration in study.configurations]


def current(study: Study, records: list[RunRecord]) -> list[RunRecord]:
    """The records of a study's configurations with the settings that these have now, by seed."""
    rows = {configuration.name: configuration for configuration in study.configurations}
    return [
        record
        for record in sorted(records, key=lambda record: record.seed)
        if record.configuration in rows and Job(study, rows[record.configuration], record.seed).is_of(record)
    ]
