"""A trial compared with the particles that predicted it."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.data.trial import Trial
from vfpilco.rollout.particles import Rollout
from vfpilco.trials.comparison import coverage


def predicted(std: float, samples: int = 400) -> Rollout:
    q = np.random.default_rng(1).normal(scale=std, size=(samples, 500, 1))
    return Rollout(q, np.zeros((samples - 1, 500, 1)), np.zeros((samples, 500)))  # pyright: ignore[reportArgumentType]


def executed(samples: int = 400) -> Trial:
    return Trial(np.random.default_rng(2).normal(size=(samples, 1)), np.zeros((samples - 1, 1)), 0.02)


def test_a_trial_as_predicted_is_covered_as_often_as_bands_say():
    found = coverage(executed(), predicted(1.0))
    assert found.band_coverage == pytest.approx(0.95, abs=0.03)
    assert found.half_coverage == pytest.approx(0.5, abs=0.08)
    assert found.band_width == [pytest.approx(2 * 1.96, rel=0.03)]
    assert found.log_score == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.1)  # of a standard Gaussian


@pytest.mark.parametrize("std", [0.3, 3.0])
def test_particles_that_are_too_certain_or_too_uncertain_score_less(std):
    assert coverage(executed(), predicted(std)).log_score < coverage(executed(), predicted(1.0)).log_score - 0.4


def test_a_trial_that_ended_early_is_compared_as_far_as_it_went():
    assert coverage(executed(40), predicted(1.0)).band_coverage > 0.8
