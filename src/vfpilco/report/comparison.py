"""Runs side by side, and studies: the learning curves of many, in one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.errors import UserError
from vfpilco.report.run import put, task_if_any
from vfpilco.report.sentences import first_success
from vfpilco.report.source import Source
from vfpilco.runfolder import RunFolder
from vfpilco.studies.statistics import interval

Row = dict[str, Any]


def write_comparison(runs: Sequence[Path], studies: Sequence[Path], out: Path) -> Path:
    """Write a page that compares run folders, and the configurations of studies (their JSON lines)."""
    data = {
        "kind": "comparison",
        "title": "Comparison" if len(runs) + len(studies) > 1 else studies[0].stem,
        "runs": _runs(runs),
        "studies": [study_data(file) for file in studies],
    }
    return put(data, out)


def _runs(folders: Sequence[Path]) -> list[dict[str, Any]]:
    sources = [Source(RunFolder(folder), task_if_any(RunFolder(folder))[0]) for folder in folders]
    settings = [source.header.get("settings", {}) for source in sources]
    names = list(dict.fromkeys(name for chosen in settings for name in chosen))
    # A setting that a run did not know yet tells nothing.
    differing = [name for name in names if len({repr(chosen[name]) for chosen in settings if name in chosen}) > 1]
    return [
        _run(source, {name: chosen.get(name) for name in differing})
        for source, chosen in zip(sources, settings, strict=True)
    ]


def _run(source: Source, differing: dict[str, Any]) -> dict[str, Any]:
    first = first_success(source.rows)
    return {
        "name": source.folder.path.name or str(source.folder.path),
        "task": source.header["task"]["name"],
        "seed": source.header.get("seed"),
        "rows": [
            {name: row.get(name) for name in ("kind", "trial", "cost", "success", "predicted_cost")}
            for row in source.rows
        ],
        "first_success": None if first is None else first["trial"],
        "seconds": sum(row.get("seconds", 0.0) for row in source.timings),
        "differing": differing,
    }


def study_data(file: Path) -> dict[str, Any]:
    """Success rates and cost percentiles of every configuration in a results file."""
    groups: dict[str, list[list[Row]]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
            rows = [row for row in record["results"] if row["kind"] == "policy"]
            [(float(row["cost"]), bool(row["success"])) for row in rows]
            groups.setdefault(str(record.get("configuration", file.stem)), []).append(rows)
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"Line {number} of {file} is no record of a study ({type(error).__name__}: {error})."
            ) from error
    if not groups:
        raise UserError(f"{file} holds no run: make some with vfpilco reproduce.")
    return {"name": file.stem, "configurations": [_configuration(name, runs) for name, runs in groups.items()]}


def _configuration(name: str, runs: list[list[Row]]) -> dict[str, Any]:
    """What became of the runs trial by trial; where some are shorter, of those that got there."""
    trials = []
    for k in range(max(map(len, runs))):
        there = [run[k] for run in runs if len(run) > k]
        count = sum(bool(row["success"]) for row in there)
        low, median, high = np.quantile([row["cost"] for row in there], [0.05, 0.5, 0.95]).tolist()
        ends = interval(count, len(there))
        trials.append(
            {"runs": len(there), "successes": count, "interval": ends, "low": low, "median": median, "high": high}
        )
    return {"name": name, "runs": len(runs), "trials": trials}
