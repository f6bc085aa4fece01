"""The cart-pole with inputs that act up to two samples late: how often the delay is found, and what it costs."""

from __future__ import annotations

from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.shelf import first_successes, median_trial, successes_figure
from vfpilco.studies.tables import markdown_table

FOLDER = "examples/delays"
DELAYS = (0, 1, 2)
"""The delays in samples."""


def found(record: RunRecord, delay: int) -> bool:
    """Whether a run used the control memory that this delay needs."""
    return record.m_u == 1 + delay


def _table(study: Study, records: list[RunRecord]) -> str:
    """For every delay: how often it was found, and when runs succeeded first."""
    rows = []
    for group in groups(study, records):
        delay = DELAYS[study.configurations.index(group.configuration)]
        first, runs = first_successes(group.records), len(group.records)
        right = sum(found(record, delay) for record in group.records)
        solved = [f"{int((first <= trial).sum())}" for trial in range(1, study.trials + 1)]
        rows.append([group.name, str(runs), f"{right} of {runs}", *solved, median_trial(first)])
    header = ["", "runs", "delay found", *(f"solved by {k}" for k in range(1, study.trials + 1)), "median"]
    return markdown_table(header, rows)


DELAY = Study(
    name="cartpole-delay",
    summary="the swing-up with inputs that act 0, 1 and 2 samples late, nothing declared",
    task="",
    trials=6,
    configurations=tuple(Configuration(f"delay-{d}", {}, task=f"{FOLDER}/cartpole_delay_{d}.py") for d in DELAYS),
    figure=successes_figure,
    table=_table,
    published_runs=20,
    folder=FOLDER,
    until_successes=1,
)
