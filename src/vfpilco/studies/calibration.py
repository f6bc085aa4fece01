"""How far predictions can be trusted: what was predicted of the trials of all studies, and what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_file, write_file
from vfpilco.common.plotting import new_figure, save
from vfpilco.common.statistics import interval
from vfpilco.common.versions import versions
from vfpilco.data.results import TrialResult
from vfpilco.studies.figures import DPI, open_frame
from vfpilco.studies.records import RunRecord, read
from vfpilco.studies.tables import markdown_table

NAME, SUMMARY = "calibration", "how often trials succeed, and stay in their band, that were predicted to"
EDGES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Trials with a predicted probability between two of these are compared with how many came true."""
SCORES = ("Brier score", "… of the rate")


class Event(NamedTuple):
    """Something that may happen in a trial, with the probability that was predicted."""

    chance: float
    happened: bool


@dataclass(frozen=True)
class Predicted:
    """A trial of a policy, with what was predicted of it."""

    task: str
    success: Event
    leaving: Event | None
    """That it leaves a safe range; None if there is none."""
    coverage: float
    """The fraction of its samples within their 95 % band."""
    half_coverage: float | None
    """The fraction within their 50 % band; None if it is not recorded."""
    cost_in_band: bool
    """Whether its cost was within its 95 % band."""
    within_95: float | None
    """The fraction of its largest positions, speeds and inputs within their 95 % quantiles; None if not recorded."""
    within_999: float | None
    """The same for the 99.9 % quantiles."""


@dataclass(frozen=True)
class Calibrated:
    """The tables, in Markdown, and the files that were written."""

    table: str
    files: tuple[Path, ...]


def predicted(records: Sequence[RunRecord]) -> list[Predicted]:
    """The trials of these runs of which a probability of success was predicted."""
    found = []
    for record in records:
        task = Path(record.task).stem.replace("_", "-")
        for row in record.results:
            if row.success_chance is None or row.predicted_cost is None or row.band_coverage is None:
                continue
            success, inside = Event(row.success_chance, row.success), row.predicted_cost.contains(row.cost)
            covered = row.band_coverage, row.half_coverage, inside, row.within_95, row.within_999
            found.append(Predicted(task, success, _leaving(row), *covered))
    return found


def _leaving(row: TrialResult) -> Event | None:
    """That a trial leaves a safe range, which ends it."""
    return Event(row.risk.leaving, row.ended_s is not None) if row.risk is not None and row.risk.ranges else None


def calibrate(results: Path) -> Calibrated:
    """Compare predictions with what happened, in all records in `results` that this version made; a page and a figure.

    Raises:
        UserError: If there are none.
    """
    now = versions()["vfpilco"]
    files = [file for file in sorted(results.glob("*.jsonl")) if _holds_runs(file)]
    records = [record for file in files for record in read(file) if record.versions.get("vfpilco") == now]
    trials = predicted(records)
    if not trials:
        raise UserError(
            f"{results} holds no runs of version {now} with a predicted chance of success: reproduce a study first."
        )
    with_ranges = [trial for trial in trials if trial.leaving is not None]
    measured = [trial for trial in trials if trial.within_95 is not None]
    shown = ((SUCCESS, trials, _row), (RISK, with_ranges, _risk_row), (LARGEST, measured, _largest_row))
    tables = [_table(header, some, row) for header, some, row in shown if some]
    text, figure = results / f"{NAME}.md", results / f"{NAME}.png"
    _draw(trials, with_ranges, figure)
    write_file(text, _page(tables, trials, len(records), now))
    return Calibrated("\n\n".join(tables), (text, figure))


def brier(events: Sequence[Event]) -> tuple[float, float]:
    """The mean squared error of the predicted probabilities, and that of always predicting the mean rate."""
    chance, happened = np.array(events, dtype=float).T
    return float(np.mean((chance - happened) ** 2)), float(happened.mean() * (1 - happened.mean()))


def reliability(events: Sequence[Event]) -> list[tuple[float, int, int]]:
    """For every bin with events: the mean predicted probability, how many happened, and how many there are."""
    chance, happened = np.array(events, dtype=float).T
    bins = np.clip(np.digitize(chance, EDGES[1:-1]), 0, len(EDGES) - 2)
    inside = [bins == i for i in range(len(EDGES) - 1)]
    return [(float(chance[at].mean()), int(happened[at].sum()), int(at.sum())) for at in inside if at.any()]


def _holds_runs(file: Path) -> bool:
    """Whether a results file is that of a study with runs."""
    return b'"configuration"' in read_file(file).partition(b"\n")[0]


SUCCESS = ("task", "trials", "succeeded", "predicted", *SCORES, "in 95 % band", "in 50 % band", "cost in band")
LARGEST = ("largest values", "trials", "within 95 %", "within 99.9 %")
RISK = ("task with safe ranges", "trials", "left one", "predicted", *SCORES)


def _table(header: Sequence[str], trials: Sequence[Predicted], row: Callable[..., list[str]]) -> str:
    """A row for every task, and one for all."""
    names = sorted({trial.task for trial in trials})
    rows = [row(name, [trial for trial in trials if trial.task == name]) for name in names]
    return markdown_table([*header], [*rows, row("all", trials)])


def _row(name: str, trials: Sequence[Predicted]) -> list[str]:
    halves = [trial.half_coverage for trial in trials if trial.half_coverage is not None]
    half = f"{_percent(halves)} ({len(halves)} trials)" if halves else ""
    coverage, inside = [trial.coverage for trial in trials], [trial.cost_in_band for trial in trials]
    return [name, *_scores([trial.success for trial in trials]), _percent(coverage), half, _percent(inside)]


def _risk_row(name: str, trials: Sequence[Predicted]) -> list[str]:
    return [name, *_scores([trial.leaving for trial in trials if trial.leaving is not None])]


def _largest_row(name: str, trials: Sequence[Predicted]) -> list[str]:
    parts = [[getattr(trial, part) for trial in trials] for part in ("within_95", "within_999")]
    return [name, str(len(trials)), *map(_percent, parts)]


def _scores(events: Sequence[Event]) -> list[str]:
    """How many there are, how many happened and were predicted to, and how good the predictions were."""
    shares = [_percent([event.happened for event in events]), _percent([event.chance for event in events])]
    return [str(len(events)), *shares, *(f"{score:.3f}" for score in brier(events))]


def _percent(shares: Sequence[float]) -> str:
    return f"{100 * float(np.mean(shares)):.0f} %"


def _draw(trials: Sequence[Predicted], with_ranges: Sequence[Predicted], file: Path) -> None:
    """Reliability diagrams: how many events happened, over their predicted probability, with 95 % intervals."""
    events = {
        "success": [trial.success for trial in trials],
        "leaving a safe range": [trial.leaving for trial in with_ranges if trial.leaving is not None],
    }
    shown = {name: found for name, found in events.items() if found}
    figure = new_figure(4.8 * len(shown), 4.5)
    for axis, (name, found) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown.items(), strict=True):
        _draw_reliability(axis, found)
        axis.set_xlabel(f"predicted probability of {name}")
        axis.set_ylabel("fraction of trials in which it happened")
        axis.set_title("with 95 % intervals and numbers of trials", fontsize=9)
    save(figure, file, dpi=DPI)


def _draw_reliability(axis: Any, events: Sequence[Event]) -> None:
    axis.plot([0, 1], [0, 1], color="#94a3b8", linewidth=1)
    for chance, k, n in reliability(events):
        low, high = interval(k, n)
        axis.plot([chance, chance], [low, high], color="#c2410c", linewidth=1.5)
        axis.scatter([chance], [k / n], color="#c2410c", s=25, zorder=2)
        axis.annotate(f"{n}", (chance, k / n), textcoords="offset points", xytext=(6, -4), fontsize=8)
    open_frame(axis)


def _page(tables: Sequence[str], trials: Sequence[Predicted], runs: int, version: str) -> str:
    score, base = brier([trial.success for trial in trials])
    shown = "\n\n".join(tables)
    return f"""# {NAME}: {SUMMARY}

    vfpilco reproduce {NAME}

{shown}

*Predicted* is the mean of the predicted probabilities. The Brier score is the mean of their squared errors: 0 is
perfect, and always predicting the rate of what happened gives the score in the next column. For success, over all
tasks, it is {score:.3f} against {base:.3f}. The columns on bands: samples within their 95 % band, within their 50 %
band where that was recorded, and costs within their 95 % band. Largest values: the positions, speeds and inputs whose
largest magnitude in a trial stayed within its predicted quantile.

![Reliability of the predicted probabilities]({NAME}.png)

{len(trials)} trials of the {runs} runs of version {version} whose records are in this folder. Drawn on
{date.today().isoformat()}.
"""
