"""A trial is stopped when its measurements leave the predicted band."""

from __future__ import annotations

import numpy as np
import pytest
from folders import SIZES

import vfpilco
from vfpilco.data.failures import PlantError
from vfpilco.data.watcher import Watcher
from vfpilco.rollout.band import Band
from vfpilco.trials import learner
from vfpilco.trials.abort import Monitor
from vfpilco.trials.execute import Conditions, execute


class Notes(Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def band(task, half: float) -> Band:
    """±half around zero at every sample."""
    zero = np.zeros((task.horizon + 1, 2))
    return Band(zero - half, zero, zero + half)


def push(q):
    return np.array([10.0])


def test_a_trial_ends_at_the_first_measurement_outside_and_keeps_it(task):
    monitor = Monitor(band(task, 0.2), task.machine, 0.999)
    trial = execute(task, task.machine.plant(), push, 0, Conditions(monitor=monitor))
    free = execute(task, task.machine.plant(), push, 0)
    first = np.argmax(np.any(np.abs(free.q) > 0.2, axis=1))
    assert trial.steps == first < task.horizon
    np.testing.assert_array_equal(trial.q, free.q[: first + 1])
    assert trial.ended.startswith("p was measured at 0.2") or trial.ended.startswith("alpha was measured at -0.2")
    assert f"after {first * task.machine.sampling_time:.3g} s, where -0.2 to 0.2 was predicted" in trial.ended
    assert not trial.reached


def test_a_trial_as_predicted_is_not_stopped(task):
    monitor = Monitor(band(task, 1e3), task.machine, 0.999)
    trial = execute(task, task.machine.plant(), push, 0, Conditions(monitor=monitor))
    assert (trial.steps, trial.ended) == (task.horizon, "")


def test_a_start_outside_the_band_applies_no_input(task):
    monitor = Monitor(band(task, 1e-9), task.machine, 0.999)
    with pytest.raises(PlantError, match=r"starts where it may not be: .* was predicted with .* Nothing was applied"):
        execute(task, task.machine.plant(), push, 0, Conditions(monitor=monitor))


def test_the_position_that_is_furthest_outside_its_own_band_is_named(task):
    low = np.tile([-1.0, -0.1], (3, 1))
    monitor = Monitor(Band(low, 0 * low, -low), task.machine, 0.99)
    assert monitor(np.zeros(2)) is None
    assert monitor(np.array([1.5, 0.5])).startswith("alpha was measured at 0.5 rad after 0.0333 s, where -0.1 to 0.1")


def test_every_measurement_is_compared_with_the_band_of_its_own_sample(task):
    mean = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    moving = Band(mean - 0.1, mean, mean + 0.1)
    monitor = Monitor(moving, task.machine, 0.99)
    assert [monitor(q) for q in mean] == [None, None, None]
    assert monitor(np.array([9.0, 9.0])) is None  # nothing was predicted so late
    late = Monitor(moving, task.machine, 0.99)
    assert late(mean[0]) is None
    assert late(mean[0]).startswith("p was measured at 0 m after 0.0333 s, where 0.9 to 1.1 was predicted")


def test_an_angle_may_start_full_turns_away(task):
    monitor = Monitor(band(task, 0.2), task.machine, 0.99)
    assert monitor(np.array([0.0, 4 * np.pi + 0.1])) is None
    assert monitor(np.array([0.0, 4 * np.pi - 0.1])) is None
    assert monitor(np.array([0.0, 0.1])) is not None
    cart = Monitor(band(task, 0.2), task.machine, 0.99)
    assert cart(np.array([4 * np.pi, 0.0])) is not None  # a length does not turn


def test_a_run_stops_the_trial_and_learns_from_it(task, monkeypatch):
    narrow = band(task, 0.2)
    narrow.high[5:] = -0.2  # nothing can be inside
    monkeypatch.setattr(learner, "band_of", lambda *_: narrow)
    result = vfpilco.learn(task, seed=1, trials=1, abort_outside=0.999, watch=(watch := Notes()), steps=4, **SIZES)
    assert result.trials[0].steps == task.horizon  # nothing is predicted of an exploration
    row, trial = result.rows[1], result.trials[1]
    assert trial.steps == 5
    assert row.ended_s == trial.duration
    assert not row.success
    assert any("was predicted with a probability of 0.999 (--abort-outside)" in note for note in watch.notes)


@pytest.mark.parametrize("bad", [0.4, 1.5, "much"])
@pytest.mark.usefixtures("as_users_run_it")
def test_an_impossible_probability_is_refused(task, bad):
    with pytest.raises(vfpilco.UserError, match="abort_outside must be"):
        vfpilco.learn(task, abort_outside=bad)
