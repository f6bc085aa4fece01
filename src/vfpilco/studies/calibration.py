"""How far predictions can be trusted: what was predicted of the trials of all studies, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file
from vfpilco.common.plotting import new_figure, save
from vfpilco.common.statistics import interval
from vfpilco.common.versions import versions
from vfpilco.studies.figures import DPI, open_frame
from vfpilco.studies.records import RunRecord, read
from vfpilco.studies.tables import markdown_table

NAME, SUMMARY = "calibration", "how often trials succeed, and stay in their band, that were predicted to"
EDGES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Trials with a predicted probability of success between two of these are compared with how many succeeded."""


@dataclass(frozen=True)
class Predicted:
    """A trial of a policy, with what was predicted of it."""

    task: str
    chance: float
    """The predicted probability of success."""
    success: bool
    coverage: float
    """The fraction of its samples within their 95 % band."""
    cost_in_band: bool
    """Whether its cost was within its 95 % band."""


@dataclass(frozen=True)
class Calibrated:
    """The table, in Markdown, and the files that were written."""

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
            inside = row.predicted_cost.contains(row.cost)
            found.append(Predicted(task, row.success_chance, row.success, row.band_coverage, inside))
    return found


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
    table, text, figure = _table(trials), results / f"{NAME}.md", results / f"{NAME}.png"
    _draw(trials, figure)
    write_file(text, _page(table, trials, len(records), now))
    return Calibrated(table, (text, figure))


def brier(trials: Sequence[Predicted]) -> tuple[float, float]:
    """The mean squared error of the predicted probabilities of success, and that of always predicting the mean rate."""
    chance, success = _arrays(trials)
    return float(np.mean((chance - success) ** 2)), float(success.mean() * (1 - success.mean()))


def reliability(trials: Sequence[Predicted]) -> list[tuple[float, int, int]]:
    """For every bin with trials: the mean predicted probability, how many succeeded, and how many there are."""
    chance, success = _arrays(trials)
    bins = np.clip(np.digitize(chance, EDGES[1:-1]), 0, len(EDGES) - 2)
    inside = [bins == i for i in range(len(EDGES) - 1)]
    return [(float(chance[at].mean()), int(success[at].sum()), int(at.sum())) for at in inside if at.any()]


def _arrays(trials: Sequence[Predicted]) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    return np.array([trial.chance for trial in trials]), np.array([float(trial.success) for trial in trials])


def _holds_runs(file: Path) -> bool:
    """Whether a results file is that of a study with runs."""
    with file.open() as lines:
        return '"configuration"' in lines.readline()


def _table(trials: Sequence[Predicted]) -> str:
    """A row for every task, and one for all."""
    names = sorted({trial.task for trial in trials})
    rows = [_row(name, [trial for trial in trials if trial.task == name]) for name in names]
    rows.append(_row("all", trials))
    scores = ["Brier score", "… of the rate"]
    return markdown_table(["task", "trials", "succeeded", "predicted", *scores, "in 95 % band", "cost in band"], rows)


def _row(name: str, trials: Sequence[Predicted]) -> list[str]:
    score, base = brier(trials)
    share = [np.mean([getattr(trial, field) for trial in trials]) for field in ("success", "chance")]
    covered, inside = (np.mean([getattr(trial, field) for trial in trials]) for field in ("coverage", "cost_in_band"))
    numbers = [*(f"{100 * value:.0f} %" for value in share), f"{score:.3f}", f"{base:.3f}"]
    return [name, str(len(trials)), *numbers, *(f"{100 * value:.0f} %" for value in (covered, inside))]


def _draw(trials: Sequence[Predicted], file: Path) -> None:
    """The reliability diagram: how many trials succeeded, over the predicted probability, with 95 % intervals."""
    figure = new_figure(5, 4.5)
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color="#94a3b8", linewidth=1)
    for chance, k, n in reliability(trials):
        low, high = interval(k, n)
        axis.plot([chance, chance], [low, high], color="#c2410c", linewidth=1.5)
        axis.scatter([chance], [k / n], color="#c2410c", s=25, zorder=2)
        axis.annotate(f"{n}", (chance, k / n), textcoords="offset points", xytext=(6, -4), fontsize=8)
    axis.set_xlabel("predicted probability of success")
    axis.set_ylabel("fraction of trials that succeeded")
    axis.set_title("with 95 % intervals and numbers of trials", fontsize=9)
    open_frame(axis)
    save(figure, file, dpi=DPI)


def _page(table: str, trials: Sequence[Predicted], runs: int, version: str) -> str:
    score, base = brier(trials)
    return f"""# {NAME}: {SUMMARY}

    vfpilco reproduce {NAME}

{table}

*Predicted* is the mean of the predicted probabilities of success. The Brier score is the mean of their squared errors:
0 is perfect, and always predicting the rate of successes gives the score in the next column. Over all tasks it is
{score:.3f} against {base:.3f}. The last columns: samples within their 95 % band, and costs within theirs.

![Reliability of the predicted probability of success]({NAME}.png)

{len(trials)} trials of the {runs} runs of version {version} whose records are in this folder. Drawn on
{date.today().isoformat()}.
"""
