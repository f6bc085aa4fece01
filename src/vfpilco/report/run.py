"""The report of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.records import to_json_types
from vfpilco.data.results import TrialResult
from vfpilco.report import sentences
from vfpilco.report.packing import pack
from vfpilco.report.page import write_page
from vfpilco.report.settings import changed_settings, predicts_velocities, settings_text, state_text
from vfpilco.report.source import Source
from vfpilco.report.trials import trial_data
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task

TrialData = Callable[[Source, int], dict[str, Any]]
"""Makes what the page shows of an execution, by its index."""


@dataclass(frozen=True)
class LiveStatus:
    """What a run is doing that has not finished yet."""

    text: str
    """The current phase, in a sentence."""
    steps: np.ndarray
    """Gradient step and expected cost, (n, 2), of the current optimisation."""


def write_report(folder: RunFolder, out: Path | None = None, task: Task | None = None) -> Path:
    """Write the page of a run.

    Args:
        folder: The run.
        out: The file to write; `report.html` in the folder of the run if not given.
        task: The task of the run; without it the machine is drawn as it was stored.

    Returns:
        The file that was written.

    Raises:
        UserError: If the folder holds no run, if nothing was executed yet, or if a file of the run is damaged.

    Example:
        >>> write_report(RunFolder("runs/first"), task=vfpilco.task("cartpole"))  # doctest: +SKIP
        PosixPath('runs/first/report.html')
    """
    source = Source(folder, task)
    if not source.results:
        raise UserError(f"{folder.path} has no trial yet: learn first.")
    return write_run(source, out or folder.path / "report.html")


def write_run(source: Source, out: Path, live: LiveStatus | None = None, make: TrialData = trial_data) -> Path:
    """Write the page of a run to the file `out`; `live` says what the run is doing, `make` shows its trials."""
    return write_page(f"{source.header.task.name}, seed {source.header.seed}", run_data(source, live, make), out)


def run_data(source: Source, live: LiveStatus | None = None, make: TrialData = trial_data) -> dict[str, Any]:
    """Everything that the page shows."""
    header = source.header
    return {
        "kind": "run",
        "run": str(source.folder.path),
        "details": f"seed {header.seed}, state {state_text(source)}, {source.folder.path}",
        "live": None if live is None else _live_data(live),
        "velocities": predicts_velocities(source),
        "task": {
            "name": header.task.name,
            "summary": source.summary,
            "positions": [_position_data(source, i) for i in range(len(source.positions))],
            "inputs": [{"name": i.name, "unit": i.unit, "limit": i.limit} for i in source.inputs],
            "modelled": source.modelled,
            "measures": source.units,
        },
        "sentences": sentences.of_run(source),
        "results": [
            {**_result_data(result), "sentence": sentence}
            for result, sentence in zip(source.results, sentences.of_trials(source), strict=True)
        ],
        "trials": [make(source, i) for i in range(len(source.results))],
        "timings": to_json_types(source.timings),
        "about": _about(source),
    }


def _position_data(source: Source, i: int) -> dict[str, Any]:
    """What the page says about a position: its name, its safe range, and where it should be."""
    position, target = source.positions[i], source.target(i)
    return {
        "name": position.name,
        "unit": position.unit,
        "angle": position.angle,
        "safe": position.safe,
        "target": None if target is None else pack(target),
    }


def _about(source: Source) -> dict[str, Any]:
    """What is needed to repeat the run."""
    changed = changed_settings(source)
    return {
        "command": source.command,
        "settings": [[name, text, name in changed] for name, text in settings_text(source).items()],
        "versions": source.header.versions,
        "computer": {} if source.header.machine is None else vars(source.header.machine),
    }


SHOWN = ("noise", "one_step_error", "multi_step_error")
"""What the page shows of a model."""


def _result_data(result: TrialResult) -> dict[str, Any]:
    """The result of a trial without what the page does not show."""
    model = None if result.model is None else {name: getattr(result.model, name) for name in SHOWN}
    return {**to_json_types(result), "model": model}


def _live_data(live: LiveStatus) -> dict[str, Any]:
    step, cost = live.steps.T
    curve = None if len(step) < 2 else {"step": pack(step), "cost": pack(cost)}
    return {"text": live.text, "curve": curve}
