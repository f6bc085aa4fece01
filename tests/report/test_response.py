"""Step responses against those of systems whose response is known, and what the page says of surprises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vfpilco.data.results import CostBand, TrialResult
from vfpilco.report.response import set_point, step_response
from vfpilco.report.sentences import _trial

SAMPLING = 0.01
T = np.arange(0, 10, SAMPLING)


def second_order(damping: float) -> np.ndarray:
    """The unit step response of a system of second order with a natural frequency of 2 rad/s."""
    w = 2.0
    fast = w * np.sqrt(1 - damping**2)
    return 1 - np.exp(-damping * w * T) * (np.cos(fast * T) + damping * w / fast * np.sin(fast * T))


def test_a_first_order_lag_rises_in_2_2_time_constants_and_settles_in_3():
    found = step_response(1 - np.exp(-T / 0.5), np.ones(len(T)), SAMPLING, angle=False)
    assert found.rise == pytest.approx(0.5 * np.log(9), abs=2 * SAMPLING)
    assert found.settling == pytest.approx(0.5 * np.log(20), abs=2 * SAMPLING)
    assert found.overshoot == pytest.approx(0, abs=1e-6)
    assert abs(found.error) < 1e-6


@pytest.mark.parametrize("damping", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("scale", [1.0, -40.0])
def test_the_overshoot_of_a_second_order_system_is_the_known_one(damping, scale):
    found = step_response(scale * second_order(damping) + 3, np.full(len(T), 3 + scale), SAMPLING, angle=False)
    assert found.overshoot == pytest.approx(np.exp(-np.pi * damping / np.sqrt(1 - damping**2)), rel=1e-3)


def test_an_angle_counts_from_the_nearest_turn():
    q = -np.pi * (1 - np.exp(-T / 0.5))
    found = step_response(q, np.full(len(T), np.pi), SAMPLING, angle=True)
    assert abs(found.error) < 1e-6
    assert found.settling is not None


def test_what_never_arrives_has_no_rise_and_never_settles():
    found = step_response(0.5 * (1 - np.exp(-T)), np.ones(len(T)), SAMPLING, angle=False)
    assert (found.rise, found.settling) == (None, None)
    assert found.error == pytest.approx(-0.5, abs=1e-3)


def test_a_position_that_starts_at_its_target_has_only_an_error():
    found = step_response(np.sin(T), np.zeros(len(T)), SAMPLING, angle=False)
    assert (found.rise, found.overshoot, found.settling) == (None, None, None)


def test_only_a_constant_target_is_a_set_point():
    assert set_point(np.array([0.0, 2.0, 2.0])) == 2.0  # a step after the first sample
    assert set_point(np.array([0.0, 1.0, 2.0])) is None
    assert set_point(np.array([1.0, np.nan])) is None
    assert set_point(None) is None
    assert step_response(T, None, SAMPLING, angle=False) is None


# -- sentences ---------------------------------------------------------------------------------------------------

ROW = TrialResult(
    cost=20.0, success=True, kind="policy", trial=3, experience_s=9.0, predicted_cost=CostBand(20.0, 15.0, 25.0)
)


@pytest.mark.parametrize(
    ("changes", "words", "absent"),
    [
        ({}, "inside that band", "It cost less"),
        ({"cost": 11.0}, "It cost less than predicted", "although"),
        ({"cost": 30.0}, "It succeeded although it cost more", "It cost less"),
        ({"cost": 30.0, "success": False}, "outside that band", "although"),
        ({"success_chance": 0.4}, "with a probability of success of 40 %", "It cost less"),
    ],
)
def test_a_success_outside_the_band_is_explained(changes, words, absent):
    sentence = _trial(dataclasses.replace(ROW, **changes), False, {})
    assert words in sentence
    assert absent not in sentence
