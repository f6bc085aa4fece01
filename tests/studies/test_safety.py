"""The study of machines with safe ranges."""

from __future__ import annotations

from pathlib import Path

import pytest

from vfpilco.data.results import TrialResult
from vfpilco.studies.records import RunRecord
from vfpilco.studies.safety import FOLDER, MACHINES, SAFETY
from vfpilco.trials.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def record(name: str, seed: int, *trials: str) -> RunRecord:
    """A run whose exploration was cut short, with policies that left, failed or succeeded."""
    rows = [TrialResult(cost=9.0, success=False, experience_s=1.0, kind="explore", ended_s=1.0)]
    for trial in trials:
        ended = 0.5 if trial == "left" else None
        rows.append(
            TrialResult(cost=5.0, success=trial == "success", experience_s=6.0, kind="policy", trial=1, ended_s=ended)
        )
    return RunRecord(configuration=name, seed=seed, task=name, trials=6, settings={}, results=rows)


RECORDS = [
    record("rail", 0, "failed", "success", "success"),
    record("rail", 1, "left", "failed", "success", "success"),
    record("rail-without", 0, "left", "left", "left", "left", "left", "left"),
]


def test_every_machine_is_run_with_and_without_its_ranges_in_the_optimisation():
    assert sorted(f"{name}.py" for name in MACHINES.values()) == sorted(
        file.name for file in (ROOT / FOLDER).glob("*.py")
    )
    constrained, free = SAFETY.configurations[::2], SAFETY.configurations[1::2]
    assert all(SAFETY.settings(c) == Settings() for c in constrained)
    assert all(SAFETY.settings(c) == Settings().replace(risk_bound=1.0) for c in free)
    assert [c.task for c in constrained] == [c.task for c in free]


def test_the_table_counts_trials_that_left():
    assert SAFETY.table(SAFETY, RECORDS).splitlines()[2:] == [
        "| rail | 2 | 1 of 7 | 2 of 2 | 2 of 2 | 3 |",
        "| rail-without | 1 | 6 of 6 | 1 of 1 | 0 of 1 | none |",
    ]


def test_the_figure_is_drawn(tmp_path):
    SAFETY.figure(SAFETY, RECORDS, tmp_path / "safety.png")
    assert (tmp_path / "safety.png").read_bytes()[:4] == b"\x89PNG"
