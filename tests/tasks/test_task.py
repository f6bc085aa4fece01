from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from variants import variant

import vfpilco


def test_negative_noise_is_refused():
    with pytest.raises(vfpilco.UserError, match=r"noise must be zero or positive, got \(0.001, -0.002\)"):
        vfpilco.GaussianNoise((1e-3, -2e-3))


def test_a_start_needs_as_many_means_as_standard_deviations():
    with pytest.raises(vfpilco.UserError, match="A start needs two numbers for every position"):
        vfpilco.GaussianStart((0.0,), (1.0, 1.0))


def test_unknown_settings_and_too_many_trials_are_refused(task):
    with pytest.raises(vfpilco.UserError, match="did you mean 'steps'"):
        vfpilco.learn(task, stepz=3)
    with pytest.raises(vfpilco.UserError, match="reduce the number of trials"):
        vfpilco.learn(task, trials=1000)
    with pytest.raises(vfpilco.UserError, match="There is no setting called 'stepz': did you mean 'steps'"):
        vfpilco.learn(dataclasses.replace(task, settings={"stepz": 3}))


def test_only_the_last_second_counts_for_a_successful_swing_up(task):
    q = np.zeros((91, 2))
    q[60:, 1] = -np.pi
    assert task.success(q)
    q[60, 1] = np.deg2rad(169)
    assert not task.success(q)
    q[60, 1] = np.deg2rad(189)
    assert task.success(q)
    q[90, 0] = 0.11
    assert not task.success(q)


def test_a_trial_that_ended_early_is_charged_for_the_rest_and_is_not_a_success(task):
    q = np.zeros((91, 2))
    q[:, 1] = -np.pi
    q[:40, 0] = 1.0
    full, early = task.evaluate(q), task.evaluate(q[:40])
    assert full.success
    assert not early.success
    costs = np.asarray(task.cost(q))
    assert full.cost == pytest.approx(costs.sum())
    assert early.cost == pytest.approx(costs[:40].sum() + 51 * costs[39])


def test_why_a_trial_ends(task):
    cart = dataclasses.replace(task.machine.positions[0], safe=(-0.4, 0.4))
    bounded = variant(task, positions=(cart, task.machine.positions[1]), ends=lambda q: q[1] > 3)
    assert bounded.ended(np.array([0.4, 3.0])) is None
    assert bounded.ended(np.array([0.5, 9.0])) == "p was 0.5 m, outside its safe range -0.4 to 0.4"
    assert bounded.ended(np.array([0.0, 3.1])) == "the task's end was reached"


def test_a_start_is_compared_with_the_tasks_up_to_full_turns(task):
    assert task.far_from_start(np.zeros(2)) is None
    assert task.far_from_start(np.array([0.0, 2 * np.pi])) is None
    assert "alpha at 3.1 rad, where the task has" in (task.far_from_start(np.array([0.0, 3.1])) or "")
