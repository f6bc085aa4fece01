"""Runs and studies compared: the learning curves of many runs in one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_json_lines
from vfpilco.common.statistics import interval
from vfpilco.data.records import from_json_types
from vfpilco.report.page import write_page
from vfpilco.report.sentences import first_success
from vfpilco.report.settings import settings_text
from vfpilco.report.source import Source, task_if_any
from vfpilco.storage.runfolder import RunFolder


@dataclass(frozen=True)
class StudyTrial:
    """What is compared of an execution in a study."""

    kind: str
    cost: float
    success: bool


@dataclass(frozen=True)
class StudyRun:
    """A line of a study's results: one run."""

    results: list[StudyTrial]
    configuration: str | None = None

    @property
    def policies(self) -> list[StudyTrial]:
        """The trials of a policy."""
        return [result for result in self.results if result.kind == "policy"]


def write_comparison(runs: Sequence[Path], studies: Sequence[Path], out: Path) -> Path:
    """Write a page that compares runs, and the configurations of studies.

    Args:
        runs: Run folders.
        studies: Results of studies, files of JSON lines.
        out: The file to write.

    Returns:
        That file.

    Raises:
        UserError: If a folder holds no run, or if a file holds no results of a study.
    """
    data = {"kind": "comparison", "runs": _runs(runs), "studies": [study_data(file) for file in studies]}
    return write_page("Comparison" if len(runs) + len(studies) > 1 else studies[0].stem, data, out)


def _runs(folders: Sequence[Path]) -> list[dict[str, Any]]:
    sources = [Source(RunFolder(folder), task_if_any(RunFolder(folder))) for folder in folders]
    settings = [settings_text(source) for source in sources]
    names = list(dict.fromkeys(name for chosen in settings for name in chosen))
    # A run may be older than a setting: such a run does not make the setting differ.
    differing = [name for name in names if len({chosen[name] for chosen in settings if name in chosen}) > 1]
    return [
        _run(source, {name: chosen.get(name) for name in differing})
        for source, chosen in zip(sources, settings, strict=True)
    ]


def _run(source: Source, differing: dict[str, str | None]) -> dict[str, Any]:
    first = first_success(source.results)
    return {
        "name": source.folder.path.name or str(source.folder.path),
        "task": source.header.task.name,
        "seed": source.header.seed,
        "results": [
            {"trial": result.trial, "cost": result.cost, "success": result.success} for _, result in source.policies
        ],
        "first_success": None if first is None else first.trial,
        "seconds": sum(timing.seconds for timing in source.timings),
        "differing": differing,
    }


def study_data(file: Path) -> dict[str, Any]:
    """Success rates and cost percentiles of every configuration in the results of a study."""
    configurations: dict[str, list[list[StudyTrial]]] = {}
    for run in read_json_lines(file, lambda row: from_json_types(row, StudyRun)):
        configurations.setdefault(run.configuration or file.stem, []).append(run.policies)
    if not configurations:
        raise UserError(f"{file} holds no run: make some with vfpilco reproduce.")
    return {"name": file.stem, "configurations": [_configuration(*named) for named in configurations.items()]}


def _configuration(name: str, runs: list[list[StudyTrial]]) -> dict[str, Any]:
    """The results of runs per trial; shorter runs count only in the trials that they have."""
    trials = []
    for k in range(max(map(len, runs))):
        results = [run[k] for run in runs if len(run) > k]
        successes = sum(result.success for result in results)
        low, median, high = np.quantile([result.cost for result in results], [0.05, 0.5, 0.95]).tolist()
        trials.append(
            {
                "runs": len(results),
                "successes": successes,
                "interval": interval(successes, len(results)),
                "low": low,
                "median": median,
                "high": high,
            }
        )
    return {"name": name, "runs": len(runs), "trials": trials}
