"""Table, figure and page of the comparison."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.common.plotting import new_figure, save
from vfpilco.studies.alternatives.methods import METHODS, TASKS
from vfpilco.studies.alternatives.records import AlternativeRecord
from vfpilco.studies.figures import DPI, open_frame
from vfpilco.studies.groups import COLOURS
from vfpilco.studies.tables import markdown_table

QUANTITIES = {"experience_s": "seconds of experience", "minutes": "minutes of computing"}
LEAST = {"experience_s": 1.0, "minutes": 0.01}
"""Where what needs none is drawn on a logarithmic axis."""


def median(records: list[AlternativeRecord], quantity: str) -> float:
    """The median over all runs, unsolved ones at infinity; of an even number the later one of the two in the middle."""
    values = [getattr(r.attempt, quantity) if r.attempt.solved else math.inf for r in records]
    return float(np.quantile(values, 0.5, method="higher"))


def table(records: list[AlternativeRecord]) -> str:
    """How many runs of every method solved every task, and the medians of experience and computing until then."""
    rows = []
    for task in TASKS:
        for method in METHODS:
            mine = _of(records, method, task)
            if mine:
                solved = sum(record.attempt.solved for record in mine)
                cells = [_shown(mine, quantity) for quantity in QUANTITIES]
                rows.append([task, method, f"{solved} of {len(mine)}", *cells])
    return markdown_table(["machine", "method", "solved", *(f"median {name}" for name in QUANTITIES.values())], rows)


def _of(records: list[AlternativeRecord], method: str, task: str) -> list[AlternativeRecord]:
    return [record for record in records if (record.method, record.task) == (method, task)]


def _shown(records: list[AlternativeRecord], quantity: str) -> str:
    found = median(records, quantity)
    if math.isfinite(found):
        return f"{found:.3g}"
    return f"more than {max(getattr(record.attempt, quantity) for record in records):.3g}"


def draw(records: list[AlternativeRecord], file: Path) -> None:
    """A dot for every run on a logarithmic axis, hollow where it was cut off; a line at the median."""
    figure = new_figure(11, 4.4)
    for axis, (quantity, name) in zip(figure.subplots(1, 2), QUANTITIES.items(), strict=True):
        for i, method in enumerate(METHODS):
            colour, place = COLOURS[i % len(COLOURS)], 0.14 * (i - (len(METHODS) - 1) / 2)
            for x, task in enumerate(TASKS):
                mine = _of(records, method, task)
                for record in mine:
                    value = max(getattr(record.attempt, quantity), LEAST[quantity])
                    face = colour if record.attempt.solved else "white"
                    axis.plot(x + place, value, "o", color=colour, markerfacecolor=face, markersize=5)
                if mine and math.isfinite(median(mine, quantity)):
                    middle = max(median(mine, quantity), LEAST[quantity])
                    axis.hlines(middle, x + place - 0.06, x + place + 0.06, color=colour)
            axis.plot([], [], "o", color=colour, label=method)
        axis.set_yscale("log")
        axis.set_xticks(range(len(TASKS)), TASKS)
        axis.set_ylabel(f"{name} to the first success")
        axis.grid(alpha=0.25, axis="y")
        open_frame(axis)
        legend_above(axis)
    save(figure, file, dpi=DPI)


def page(name: str, summary: str, records: list[AlternativeRecord]) -> str:
    """The page: command, table, figure, and what it was made with."""
    seeds = 1 + max(record.seed for record in records)
    known = [record for record in records if record.versions]
    packages = {name: value for record in known for name, value in record.versions.items()}
    computers = {str(vars(record.machine)) for record in records if record.machine is not None}
    methods = "\n".join(f"- `{name}`: {method.words}" for name, method in METHODS.items())
    return f"""# {name}: {summary}

    vfpilco reproduce {name} --seeds {seeds}

{table(records)}

![{summary}]({name}.png)

{methods}

Experience is what the policy of the first success was learned from, exploration included. Computing is the time of the
computer, without that of the machine. A hollow dot is a run that was cut off without a success: `sac` and `tqc` after
two hours of experience, `vfpilco` and `mpc` after ten trials. Each run is a line of [{name}.jsonl]({name}.jsonl).
Drawn on {date.today().isoformat()}; runs made with {", ".join(f"{name} {value}" for name, value in packages.items())};
{"; ".join(sorted(computers))}.
"""
