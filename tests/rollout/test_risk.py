"""Probabilities of leaving safe ranges and quantiles of extremes, on particles made by hand."""

from __future__ import annotations

import doctest
import sys

import numpy as np
import pytest

from vfpilco.data.risk import Extreme, Risk, percent
from vfpilco.rollout.particles import Rollout
from vfpilco.rollout.risk import left_by, risk_of, within
from vfpilco.tasks.machine import Input, Position

INPUTS = [Input("force", "N", 10.0)]


def particles(q: np.ndarray, u: np.ndarray | None = None) -> Rollout:
    u = np.zeros((len(q) - 1, q.shape[1], 1)) if u is None else u
    return Rollout(q, u, np.zeros(q.shape[:2]))


def two_positions() -> np.ndarray:
    """Ten particles: two go above at samples 2 and 4, one of them returns, one below at 1, one leaves the other."""
    q = np.zeros((6, 10, 2))
    q[2:, 0, 0] = 0.7
    q[4, 1, 0] = 0.6
    q[1:, 2, 0] = -0.6
    q[3:, 2, 0] = 0.9  # it has left below before
    q[5, 3, 1] = 3.0
    return q


def test_the_probability_side_and_time_of_leaving_are_counted():
    cart, pole = Position("p", "m", safe=(-0.5, 0.5)), Position("alpha", "rad", angle=True, safe=(-2.0, 2.0))
    risk = risk_of(particles(two_positions()), [cart, pole], INPUTS, 0.1)
    assert risk.particles == 10
    assert risk.leaving == pytest.approx(0.4)
    first, second = risk.ranges
    assert (first.position, first.side) == ("p", "above")
    assert first.probability == pytest.approx(0.3)
    assert first.time_s == pytest.approx(0.2)
    assert (second.probability, second.side, second.time_s) == (pytest.approx(0.1), "above", pytest.approx(0.5))
    assert risk.words == "leaving p 30 % (above, at about 0.2 s), alpha 10 % (above, at about 0.5 s)"


def test_a_particle_that_leaves_both_ranges_counts_once():
    q = np.zeros((3, 4, 2))
    q[1:, 0] = 9.0
    both = [Position(name, "m", safe=(-1.0, 1.0)) for name in "ab"]
    risk = risk_of(particles(q), both, INPUTS, 0.1)
    assert [each.probability for each in risk.ranges] == [0.25, 0.25]
    assert risk.leaving == 0.25


def test_particles_have_left_from_their_first_sample_outside_on():
    below, above = left_by(two_positions()[..., 0], (-0.5, 0.5))
    np.testing.assert_allclose(below, [0, 0.1, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(above, [0, 0, 0.1, 0.1, 0.2, 0.2])


def test_the_borders_are_inside_and_ranges_may_be_open():
    q = np.full((3, 2, 1), 0.5)
    assert risk_of(particles(q), [Position("p", "m", safe=(-0.5, 0.5))], INPUTS, 0.1).leaving == 0
    open_range = risk_of(particles(q + 1e-6), [Position("p", "m", safe=(-np.inf, 0.5))], INPUTS, 0.1)
    assert (open_range.leaving, open_range.ranges[0].side) == (1.0, "above")


def test_without_a_safe_range_nothing_can_be_left():
    risk = risk_of(particles(two_positions()), [Position("p", "m"), Position("a", "rad")], INPUTS, 0.1)
    assert (risk.leaving, risk.ranges, risk.words) == (0.0, [], "")


def test_extremes_are_quantiles_of_the_largest_magnitude_over_time():
    rng = np.random.default_rng(0)
    q, u = rng.normal(size=(21, 200, 1)), rng.uniform(-3, 3, size=(20, 200, 1))
    risk = risk_of(particles(q, u), [Position("p", "m")], INPUTS, 0.05)
    largest = np.sort(np.abs(q[..., 0]).max(0))
    assert risk.positions[0].most_95 in (largest[189], largest[190])
    assert risk.positions[0].most_999 == largest[-1]
    assert risk.speeds[0].most_999 == pytest.approx(np.abs(np.diff(q, axis=0)).max() / 0.05)
    assert risk.inputs[0].most_999 == np.abs(u).max()
    assert risk.reach.startswith(f"p {largest[190]:.2g}/{largest[-1]:.2g} m, ")
    assert risk.reach.endswith(" N (95/99.9 %)")


def test_of_many_particles_the_rare_quantile_is_not_the_largest():
    q = np.linspace(0, 1, 5000)[None, :, None].repeat(2, 0)
    extreme = risk_of(particles(q), [Position("p", "m")], INPUTS, 0.1).positions[0]
    assert extreme.most_999 == pytest.approx(0.999, abs=3e-4)
    assert extreme.most_95 == pytest.approx(0.95, abs=3e-4)


def test_both_quantiles_are_written_with_units_of_positions_speeds_and_inputs():
    positions = [Extreme("p", "m", 0.31, 0.42), Extreme("n", "", 3.0, 3.0)]
    speeds = [Extreme("p", "m", 1.2, 123.4), Extreme("n", "", 0.0, 1.0)]
    risk = Risk(200, 0.0, [], positions, speeds, [Extreme("force", "N", 9.8, 9.81)])
    assert risk.reach == "p 0.31/0.42 m, 1.2/123 m/s; n 3, 0/1 1/s; force 9.8 N (95/99.9 %)"
    assert Risk(200, 0.0).reach == ""


def test_the_examples_are_right():
    assert doctest.testmod(sys.modules[Risk.__module__]).failed == 0


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 %"), (0.005, "0.5 %"), (0.02, "2 %"), (0.124, "12 %"), (1.0, "100 %")]
)
def test_small_probabilities_keep_a_digit(value, text):
    assert percent(value) == text


def test_a_trial_is_compared_with_the_largest_values_that_were_predicted():
    q = np.zeros((11, 1000, 1))
    q[5] = np.linspace(0.001, 1, 1000)[:, None]
    predicted = particles(q, np.full((10, 1000, 1), 4.0))
    risk = risk_of(predicted, [Position("p", "m")], INPUTS, 0.1)
    real, u = np.zeros((11, 1)), np.full((10, 1), 4.0)  # inputs as predicted
    for largest, expected in ((0.5, (1.0, 1.0)), (0.97, (1 / 3, 1.0)), (1.5, (1 / 3, 1 / 3))):
        real[5] = largest
        assert within(risk, real, u, 0.1) == pytest.approx(expected)  # position, speed, input


def test_a_trial_of_one_sample_stays_within_everything():
    risk = risk_of(particles(two_positions()), [Position("p", "m"), Position("alpha", "rad")], INPUTS, 0.1)
    assert within(risk, np.zeros((1, 2)), np.zeros((0, 1)), 0.1) == (1.0, 1.0)
