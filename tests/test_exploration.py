from __future__ import annotations

import numpy as np
from scipy.signal import welch
from scipy.stats import norm

from vfpilco.exploration import FilteredNoise

TS = 1 / 30


def signal(seed: int = 0, steps: int = 90, limits: tuple[float, ...] = (10.0,), **options) -> np.ndarray:
    return FilteredNoise(**options).inputs(np.random.default_rng(seed), steps, TS, np.array(limits))


def test_deviation_is_the_stated_fraction_of_each_limit():
    u = signal(steps=200_000, limits=(10.0, 0.5), std=0.1)
    np.testing.assert_allclose(u.std(0), [1.0, 0.05], rtol=0.02)
    np.testing.assert_allclose(u.mean(0) / u.std(0), 0, atol=0.03)
    assert abs(np.corrcoef(u.T)[0, 1]) < 0.05


def test_half_the_limit_by_default_and_clipped_at_it():
    u = signal(steps=200_000)
    assert u.shape == (200_000, 1)
    assert np.abs(u).max() == 10.0
    # With a deviation of half the limit before clipping, the limit is two deviations away.
    np.testing.assert_allclose(np.mean(np.abs(u) == 10.0), 2 * norm.sf(2), rtol=0.1)
    np.testing.assert_allclose(np.mean(np.abs(u) < 5.0), 1 - 2 * norm.sf(1), rtol=0.02)


def test_first_sample_is_as_wide_as_later_ones():
    rng = np.random.default_rng(3)
    draws = np.array([FilteredNoise(std=0.1).inputs(rng, 20, TS, np.ones(1))[:, 0] for _ in range(2000)])
    np.testing.assert_allclose(draws.std(0), 0.1, rtol=0.08)


def test_spectrum_is_that_of_a_first_order_low_pass_with_the_stated_cutoff():
    f, power = welch(signal(steps=400_000, std=0.1)[:, 0], fs=30, nperseg=1200)
    flat = power[(f > 0.05) & (f < 0.2)].mean()
    for frequency, expected in [(1.5, 0.5), (0.75, 0.8), (3.0, 0.2)]:
        near = power[np.abs(f - frequency) < 0.06].mean() / flat
        np.testing.assert_allclose(near, expected, rtol=0.12)
    assert power[f > 10].mean() / flat < 0.02


def test_same_seed_same_signal():
    np.testing.assert_array_equal(signal(5), signal(5))
    assert np.all(signal(5) != signal(6))
