from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import welch
from scipy.stats import norm

from vfpilco.tasks.exploration import (
    Cosines,
    Exploration,
    Feedback,
    FilteredNoise,
    RandomPD,
    SumOfSines,
    TriangularWaves,
)

TS = 1 / 30


def signal(seed: int = 0, steps: int = 90, limits: tuple[float, ...] = (10.0,), **options) -> np.ndarray:
    return FilteredNoise(**options).inputs(np.random.default_rng(seed), steps, TS, np.array(limits))


def test_the_standard_deviation_is_the_given_fraction_of_each_limit():
    u = signal(steps=200_000, limits=(10.0, 0.5), std=0.1)
    np.testing.assert_allclose(u.std(0), [1.0, 0.05], rtol=0.02)
    np.testing.assert_allclose(u.mean(0) / u.std(0), 0, atol=0.03)
    assert abs(np.corrcoef(u.T)[0, 1]) < 0.05


def test_by_default_it_is_half_of_the_limit_and_inputs_are_clipped():
    u = signal(steps=200_000)
    assert u.shape == (200_000, 1)
    assert np.abs(u).max() == 10.0
    # Before clipping, the limit is two standard deviations away.
    np.testing.assert_allclose(np.mean(np.abs(u) == 10.0), 2 * norm.sf(2), rtol=0.1)
    np.testing.assert_allclose(np.mean(np.abs(u) < 5.0), 1 - 2 * norm.sf(1), rtol=0.02)


def test_the_first_sample_has_the_same_distribution_as_later_ones():
    rng = np.random.default_rng(3)
    draws = np.array([FilteredNoise(std=0.1).inputs(rng, 20, TS, np.ones(1))[:, 0] for _ in range(2000)])
    np.testing.assert_allclose(draws.std(0), 0.1, rtol=0.08)


def test_the_spectrum_is_that_of_a_first_order_low_pass_filter_with_the_given_cutoff():
    f, power = welch(signal(steps=400_000, std=0.1)[:, 0], fs=30, nperseg=1200)
    flat = power[(f > 0.05) & (f < 0.2)].mean()
    for frequency, expected in [(1.5, 0.5), (0.75, 0.8), (3.0, 0.2)]:
        near = power[np.abs(f - frequency) < 0.06].mean() / flat
        np.testing.assert_allclose(near, expected, rtol=0.12)
    assert power[f > 10].mean() / flat < 0.02


def test_the_seed_fixes_the_inputs():
    np.testing.assert_array_equal(signal(5), signal(5))
    assert np.all(signal(5) != signal(6))


@pytest.mark.parametrize("exploration", [FilteredNoise(), Cosines(), SumOfSines(), TriangularWaves()])
def test_explorations_have_the_right_shape_and_stay_within_the_limits(exploration):
    assert isinstance(exploration, Exploration)
    assert not isinstance(exploration, Feedback)
    limits = np.array([10.0, 0.5])
    u = exploration.inputs(np.random.default_rng(0), 300, TS, limits)
    assert u.shape == (300, 2)
    assert np.all(np.abs(u) <= limits)
    assert np.all(u.std(0) > 0.1 * limits)
    np.testing.assert_array_equal(u, exploration.inputs(np.random.default_rng(0), 300, TS, limits))


def test_cosines_have_the_given_standard_deviation():
    limits, rng = np.array([2.0]), np.random.default_rng(1)
    u = np.concatenate([Cosines(std=0.1).inputs(rng, 90, TS, limits) for _ in range(500)])
    np.testing.assert_allclose(u.std(), 0.2, rtol=0.05)


def test_triangular_waves_begin_at_a_peak():
    rng = np.random.default_rng(2)
    waves = [TriangularWaves(noise=0.0).inputs(rng, 90, TS, np.ones(3)) for _ in range(5)]
    for u in waves:
        np.testing.assert_allclose(np.abs(u[0]), 0.5)
        np.testing.assert_allclose(np.abs(u).max(0), 0.5, atol=1e-12)


def test_a_random_pd_controller_follows_its_reference_within_the_limits():
    pd = RandomPD([(0.0,), (1.0,), (0.0,)], (2.0, 2.0), (0.1, 0.1))
    assert isinstance(pd, Feedback)
    control = pd.controller(np.random.default_rng(0), 0.5, np.array([1.5]))
    assert control(np.array([0.0]))[0] == 0
    assert control(np.array([0.5]))[0] == pytest.approx(2 * 0.5 - 0.1 * 1.0)
    assert control(np.array([2.0]))[0] == -1.5


def test_sines_have_random_phases_and_the_given_frequencies_and_are_not_clipped():
    rng, limits = np.random.default_rng(4), np.array([10.0])
    u = np.concatenate([SumOfSines().inputs(rng, 90, TS, limits) for _ in range(500)])
    np.testing.assert_allclose(u.std(), 10 / np.sqrt(2 * 10), rtol=0.05)  # ten sines of amplitude 1
    one = SumOfSines(1, (0.5, 0.5)).inputs(np.random.default_rng(0), 3000, TS, limits)[:, 0]
    f, power = welch(one, fs=30, nperseg=3000)
    assert f[power.argmax()] == pytest.approx(0.5)
    assert np.abs(one).max() == pytest.approx(10, rel=1e-3)
    rising = [np.diff(SumOfSines(1, (0.1, 0.2)).inputs(rng, 2, TS, limits)[:, 0])[0] > 0 for _ in range(200)]
    assert 0.3 < np.mean(rising) < 0.7  # frequencies of either sign
