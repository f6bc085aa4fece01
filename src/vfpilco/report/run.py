"""The report of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import vfpilco.report.sentences as say
from vfpilco.errors import UserError
from vfpilco.files import write_whole
from vfpilco.report.page import page
from vfpilco.report.source import Source
from vfpilco.report.trials import trial_data
from vfpilco.runfolder import RunFolder
from vfpilco.runs import task_of
from vfpilco.task import Task


def write_report(folder: RunFolder, out: Path | None = None, task: Task | None = None) -> Path:
    """Write the page of a run, in its folder if no other file is given; without a task it draws dials and sliders."""
    source = Source(folder, task)
    if not source.rows:
        raise UserError(f"{folder.path} has no trial yet: learn first.")
    return put(run_data(source), out or folder.path / "report.html")


def put(data: dict[str, Any], out: Path) -> Path:
    """Write the page that shows `data`."""
    write_whole(out, page(data["title"], data))
    return out


def task_if_any(folder: RunFolder, given: str | None = None) -> tuple[Task | None, str]:
    """The task of a run; or none, and why."""
    folder.header()  # What is no run is refused as such.
    try:
        return task_of(folder, given), ""
    except UserError as error:
        if given is not None:
            raise
        return None, f"The machine is drawn as dials and sliders. {error}"


def run_data(
    source: Source,
    live: dict[str, Any] | None = None,
    trial: Callable[[Source, int], dict[str, Any]] = trial_data,
) -> dict[str, Any]:
    """All that the page shows; `live` tells what a run that is learning is doing, `trial` how a trial is looked up."""
    header = source.header
    method = header.get("settings", {}).get("method", "vf")
    return {
        "kind": "run",
        "title": f"{header['task']['name']}, seed {header.get('seed', '?')}",
        "run": str(source.folder.path),
        "details": f"seed {header.get('seed', '?')}, method {method}, {source.folder.path}",
        "live": live,
        "method": method,
        "task": {
            "name": header["task"]["name"],
            "summary": source.task.summary if source.task is not None else "",
            "positions": [{"name": p.name, "unit": p.unit, "angle": p.angle} for p in source.positions],
            "inputs": [{"name": i.name, "unit": i.unit, "limit": i.limit} for i in source.inputs],
            "modelled": source.modelled,
            "measures": {} if source.task is None else {m.name: m.unit for m in source.task.measures},
        },
        "sentences": say.run(source),
        "rows": [
            {**row, "sentence": sentence} for row, sentence in zip(_told(source), say.trials(source), strict=True)
        ],
        "trials": [trial(source, i) for i in range(len(source.rows))],
        "timings": source.timings,
        "about": about(source),
    }


def about(source: Source) -> dict[str, Any]:
    """What is needed to make the run again."""
    header = source.header
    usual = {} if source.task is None else vars(source.task.settings)
    settings = header.get("settings", {})
    return {
        "command": source.command,
        "settings": [[name, value, name in usual and usual[name] != value] for name, value in settings.items()],
        "versions": header.get("versions", {}),
        "machine": header.get("machine", {}),
    }


KEPT = (
    "kind",
    "trial",
    "experience_s",
    "cost",
    "success",
    "ended_s",
    "measures",
    "notes",
    "predicted_cost",
    "band_coverage",
)


def _told(source: Source) -> list[dict[str, Any]]:
    """The rows without what the page does not show."""
    rows = []
    for row in source.rows:
        model = row.get("model", {})
        kept = {name: row[name] for name in KEPT if name in row}
        kept["model"] = {name: model.get(name) for name in ("noise", "one_step_error", "multi_step_error")}
        rows.append(kept)
    return rows
