"""The study of delays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vfpilco.data.results import TrialResult
from vfpilco.machines.load import load
from vfpilco.studies.delay import DELAY, DELAYS
from vfpilco.studies.records import RunRecord
from vfpilco.tasks.plant import Plant
from vfpilco.trials.execute import connected
from vfpilco.trials.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def moved(plant: Plant) -> int:
    """The first sample at which an input that began at 0 has moved the cart."""
    plant.reset(0)
    true = [np.array(plant.true_positions)]  # pyright: ignore[reportAttributeAccessIssue]
    for _ in range(5):
        plant.step(np.array([5.0]))
        true.append(np.array(plant.true_positions))  # pyright: ignore[reportAttributeAccessIssue]
    return int(np.argmax(np.abs(np.array(true)[:, 0]) > 1e-4)) - 1


@pytest.mark.parametrize(("configuration", "delay"), list(zip(DELAY.configurations, DELAYS, strict=True)))
def test_inputs_act_as_late_as_the_name_of_a_row_says_and_nothing_is_declared(configuration, delay):
    assert configuration.name == f"delay-{delay}"
    assert DELAY.settings(configuration) == Settings()
    with connected(load(configuration.task)) as plant:
        assert moved(plant) == delay


def record(delay: int, m_u: int, *success: bool) -> RunRecord:
    rows = [
        TrialResult(cost=1.0, success=done, experience_s=3.0, kind="policy", trial=k)
        for k, done in enumerate(success, start=1)
    ]
    name = f"delay-{delay}"
    return RunRecord(configuration=name, seed=0, task=name, trials=6, settings={}, results=rows, m_u=m_u)


def test_the_table_counts_delays_that_were_found_and_when_runs_succeeded():
    records = [record(0, 1, False, True), record(2, 3, False, False, True), record(2, 2, False, False, False)]
    assert DELAY.table(DELAY, records).splitlines()[2:] == [
        "| delay-0 | 1 | 1 of 1 | 0 | 1 | 1 | 1 | 1 | 1 | 2 |",
        "| delay-2 | 2 | 1 of 2 | 0 | 0 | 1 | 1 | 1 | 1 | none |",
    ]
