from __future__ import annotations

import jax
import numpy as np
import pytest

from vfpilco.common.random import JaxRandom, NumpyRandom, Random


def sources(seed: int) -> list[Random]:
    key = jax.random.key(seed)
    return [NumpyRandom(np.random.default_rng(seed)), JaxRandom(key, "float64"), JaxRandom(key, "float32")]


@pytest.mark.parametrize("i", range(3), ids=["numpy", "jax-float64", "jax-float32"])
def test_numbers_have_the_stated_distribution_and_precision(i):
    random = sources(0)[i]
    assert isinstance(random, Random)
    normal, uniform = np.asarray(random.normal((200, 100))), np.asarray(random.uniform((200, 100), -3.0, 5.0))
    assert normal.shape == uniform.shape == (200, 100)
    assert normal.dtype == uniform.dtype == ("float32" if i == 2 else "float64")
    assert normal.mean() == pytest.approx(0, abs=0.03)
    assert normal.std() == pytest.approx(1, abs=0.03)
    assert -3 <= uniform.min() < -2.99
    assert 4.99 < uniform.max() <= 5
    assert uniform.mean() == pytest.approx(1, abs=0.05)
    standard = np.asarray(random.uniform((1000,)))
    assert 0 <= standard.min() < standard.max() <= 1


@pytest.mark.parametrize("i", range(2), ids=["numpy", "jax"])
def test_every_draw_is_new_and_the_same_seed_repeats_all_of_them(i):
    def draws(seed: int) -> list[np.ndarray]:
        random = sources(seed)[i]
        return [np.asarray(draw) for draw in (random.normal((3, 2)), random.normal((3, 2)), random.uniform((3, 2)))]

    first, again, other = draws(0), draws(0), draws(1)
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.all(a != c)
    assert np.all(first[0] != first[1])


def test_the_first_draw_from_a_jax_key_is_that_of_jax_itself():
    key = jax.random.key(5)
    np.testing.assert_array_equal(JaxRandom(key, "float32").normal((4,)), jax.random.normal(key, (4,), "float32"))
    uniform = jax.random.uniform(key, (4,), "float32", -0.5, 0.5)
    np.testing.assert_array_equal(JaxRandom(key, "float32").uniform((4,), -0.5, 0.5), uniform)
