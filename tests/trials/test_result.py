"""What a run has learned so far, and what the next policy has to be better than."""

from __future__ import annotations

import math

import pytest

from vfpilco.data.results import TrialResult
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import DOUBTED, PROMISING, RunResult
from vfpilco.trials.settings import Settings


def after(task, *trials: tuple[float, bool], ended: tuple[int, ...] = ()) -> RunResult:
    """A run after an exploration and trials with these costs and successes; some ended early."""
    explored = TrialResult(kind="explore", cost=90.0, success=False, experience_s=0.0)
    rows = [
        TrialResult(
            kind="policy",
            cost=cost,
            success=success,
            experience_s=3.0,
            trial=k,
            ended_s=0.5 if k in ended else None,
        )
        for k, (cost, success) in enumerate(trials, start=1)
    ]
    return RunResult(Plan(task, Settings()), rows=[explored, *rows])


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([], math.inf),
        ([(60.0, False)], PROMISING * 60.0),
        ([(60.0, False), (40.0, False)], PROMISING * 40.0),
        ([(60.0, False), (59.0, False)], DOUBTED * 59.0),
        ([(40.0, False), (60.0, False)], DOUBTED * 40.0),
        ([(60.0, False), (12.0, True), (50.0, False)], math.inf),
    ],
)
def test_before_a_success_a_policy_has_to_be_a_clear_improvement(task, trials, expected):
    assert after(task, *trials).to_beat == pytest.approx(expected)


def test_the_cost_of_a_trial_that_ended_early_says_nothing(task):
    assert after(task, (5.0, False), ended=(1,)).to_beat == math.inf
    assert after(task, (5.0, False), (4.0, False), ended=(1,)).to_beat == pytest.approx(PROMISING * 4.0)
