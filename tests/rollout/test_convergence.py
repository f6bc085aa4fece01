from __future__ import annotations

import numpy as np
import pytest

from vfpilco.rollout.convergence import PATIENCE, converged, stalled

M, APART = 400, 2
RNG = np.random.default_rng(0)
LUCK = RNG.normal(10.0, 2.0, M)
"""What a particle costs because of its random numbers, whatever the policy: standard deviation 2."""


def falling(*gains: float, scatter: float = 0.01) -> np.ndarray:
    """Evaluations of which each gains so much on average, by particle with some scatter."""
    costs = [LUCK]
    for gain in gains:
        costs.append(costs[-1] - gain - RNG.normal(0.0, scatter, M))
    return np.array(costs)


def test_a_phase_goes_on_while_the_cost_falls():
    assert not converged(falling(1.0, 1.0, 1.0), APART, 0.05)


def test_a_phase_ends_when_the_gain_is_small_beside_the_scatter_of_executions():
    """A gain of 0.05 standard deviations, 0.1, over the whole window is what matters."""
    assert converged(falling(1.0, 1.0, 0.04, 0.04), APART, 0.05)
    assert not converged(falling(1.0, 1.0, 0.06, 0.06), APART, 0.05)


def test_a_phase_ends_when_the_gain_is_not_significant():
    """A mean gain of 0.3 in 400 particles, each of which gains or loses 4, is within twice its standard error."""
    assert converged(falling(0.15, 0.15, scatter=4.0), APART, 0.05)
    assert not converged(falling(0.15, 0.15, scatter=0.1), APART, 0.05)


def test_the_gain_is_counted_from_an_earlier_evaluation():
    constant = falling(*[0.0] * 12)
    for apart in (1, 3, 10):
        assert not converged(constant[:apart], apart, 0.05)
        assert converged(constant[: apart + 1], apart, 0.05)


def test_a_tolerance_of_zero_means_that_no_phase_ends_early():
    assert not converged(falling(0.0, 0.0, 0.0), APART, 0.0)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_costs_that_were_not_finite_say_nothing(bad):
    costs = falling(0.0, 0.0)
    costs[0, 3] = bad
    assert not converged(costs, APART, 0.05)


# -- the rule of MC-PILCO's authors ------------------------------------------------------------------------------


def noisy(*drifts: float) -> np.ndarray:
    """Costs with noise of 1 that fall by so much a step, for as many steps as the rule needs."""
    fallen = np.cumsum(np.repeat(drifts, PATIENCE))
    return 50 - fallen + np.random.default_rng(0).normal(size=len(fallen))


def test_a_cost_that_drifts_beside_its_noise_has_not_stalled():
    assert not stalled(noisy(0.2, 0.2, 0.2), 0)
    assert stalled(noisy(0.2, 0.2, 0.0, 0.0, 0.0, 0.0), 0)


def test_a_later_phase_waits_for_a_smaller_drift():
    """The change of such a cost has a standard deviation of √2: a drift of 0.07 is 0.05 of it."""
    slow = noisy(*[0.07] * 6)
    assert stalled(slow, 0)
    assert not stalled(slow, 1)


def test_a_cost_has_to_stand_still_for_a_while():
    assert not stalled(noisy(0.0)[:PATIENCE], 0)
    assert stalled(noisy(0.0, 0.0)[: PATIENCE + 50], 0)
    assert not stalled(np.r_[noisy(0.0, 0.0), noisy(0.0)[: PATIENCE // 2] - 30], 0)
