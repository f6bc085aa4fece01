"""The study of how quiet inputs are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vfpilco
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.machines.load import names
from vfpilco.studies.chatter import CHATTER, settled
from vfpilco.studies.collect import chatter
from vfpilco.studies.records import RunRecord
from vfpilco.studies.shelf import SHELF
from vfpilco.trials.settings import Settings


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])


def record(name: str, seed: int, **trials: float) -> RunRecord:
    """A run whose trials succeeded if they are called s…, with this chatter."""
    rows = [TrialResult(cost=9.0, success=False, experience_s=1.0, kind="explore")]
    rows += [TrialResult(cost=5.0, success=k.startswith("s"), experience_s=6.0, kind="policy") for k in trials]
    fixed = {"task": name, "trials": 6, "settings": {}, "results": rows}
    return RunRecord(configuration=name, seed=seed, chatter=list(trials.values()), **fixed)


RECORDS = [
    record("cartpole", 0, f1=0.9, s2=0.01, s3=0.02),
    record("cartpole", 1, f1=0.9, s2=0.01, s3=0.04),
    record("cartpole", 2, s1=0.01, f2=0.9),
    record("cartpole-without", 0, s1=0.3),
    record("helicopter", 0, f1=0.2),
    record("helicopter-without", 0, s1=0.1),
]


def test_every_task_is_run_with_the_default_settings_and_without_the_cost():
    with_cost, without = CHATTER.configurations[::2], CHATTER.configurations[1::2]
    assert all(CHATTER.settings(c) == Settings() for c in with_cost)
    assert all(CHATTER.settings(c) == Settings().replace(input_change_penalty=0.0) for c in without)
    assert (
        [c.task for c in with_cost] == [c.task for c in without] == [*names(), *(c.task for c in SHELF.configurations)]
    )


def test_chatter_is_the_mean_change_of_the_inputs_in_the_last_second():
    u = np.zeros((30, 2))
    u[:20:2] = 5.0  # before the last second
    u[20::2, 0], u[20::2, 1] = 1.0, -2.0
    trial = Trial(np.zeros((31, 1)), u, 0.1)
    assert chatter(trial, np.array([2.0, 8.0])) == pytest.approx((0.5 + 0.25) / 2)
    assert chatter(Trial(np.zeros((2, 1)), u[:1], 0.1), np.ones(2)) == 0.0


def test_chatter_counts_in_runs_that_end_with_a_success():
    assert settled(RECORDS[:3]) == pytest.approx([2.0, 4.0])


def test_the_table_compares_solved_runs_and_chatter():
    assert CHATTER.table(CHATTER, RECORDS).splitlines()[2:] == [
        "| cartpole | 1 of 1 | 3 of 3 | 1.00 | 30 | 3 | 0.10 |",
        "| helicopter | 1 of 1 | 0 of 1 | 0.50 | 10 | no success |  |",
        "| all | 2 of 2 | 3 of 4 | 0.67 |  |  |  |",
    ]


def test_without_runs_to_compare_with_there_is_no_p_value():
    assert (
        CHATTER.table(CHATTER, RECORDS[:3]).splitlines()[2] == "| cartpole | 0 of 0 | 3 of 3 |  | no success | 3 |  |"
    )


def test_the_figure_is_drawn(tmp_path):
    CHATTER.figure(CHATTER, RECORDS, tmp_path / "chatter.png")
    assert (tmp_path / "chatter.png").read_bytes()[:4] == b"\x89PNG"


def test_the_limits_of_a_task_are_the_unit():
    task = vfpilco.task("cartpole")
    trial = Trial(np.zeros((31, 2)), np.where(np.arange(30) % 2, 1.0, -1.0)[:, None], 1 / 30)
    assert chatter(trial, task.machine.limits) == pytest.approx(0.2)
