"""Safe ranges in the optimisation: the penalty, its weight, and that nothing changes without them."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.data.watcher import Watcher
from vfpilco.rollout import constraint, gradient, optimise
from vfpilco.rollout.constraint import SafeRanges
from vfpilco.rollout.optimise import Optimisation
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.tasks.machine import Position

RAIL = SafeRanges.of([Position("p", "m", safe=(-0.5, 0.5)), Position("alpha", "rad", angle=True)])
NARROW = dataclasses.replace(RAIL, low=(-1e-4,), high=(1e-4,), unit=(1e-4,))


def at(p: float) -> jax.Array:
    """One particle that stays at p."""
    return jnp.tile(jnp.array([p, 9.0]), (3, 1, 1))


def closeness(p: float) -> float:
    return float(RAIL.closeness(at(p))[0])


def test_only_positions_with_a_bounded_range_count():
    free, rail = Position("a", "m"), Position("b", "m", safe=(-1.0, 3.0))
    open_below, open_both = (
        Position("c", "m", safe=(-np.inf, 2.0), scale=0.5),
        Position("d", "m", safe=(-np.inf, np.inf)),
    )
    found = SafeRanges.of([free, rail, open_below, open_both])
    assert found == SafeRanges((1, 2), (-1.0, -np.inf), (3.0, 2.0), (2.0, 0.5))
    assert SafeRanges.of([free, open_both]) is None
    np.testing.assert_allclose(found.excess(np.array([0.0, 5.0, 1.5, 0.0])), [1.0, -1.0])


def test_the_penalty_is_nothing_inside_a_half_at_the_border_and_one_far_outside():
    assert closeness(0.0) < 1e-12
    assert closeness(0.35) < 1e-3
    assert closeness(0.5) == pytest.approx(0.5, abs=0.01)
    assert closeness(-0.5) == pytest.approx(closeness(0.5))
    assert 0.97 < closeness(5.0) < 1


def test_the_penalty_has_a_gradient_near_the_border_and_outside():
    grad = jax.grad(lambda p: RAIL.closeness(jnp.tile(jnp.stack([p, 9.0]), (3, 1, 1)))[0])
    for p in (0.4, 0.5, 1.0):
        h = 1e-4
        numeric = (closeness(p + h) - closeness(p - h)) / (2 * h)
        assert float(grad(p)) == pytest.approx(numeric, rel=1e-2)
        assert float(grad(p)) > 0.1
        assert float(grad(-p)) == pytest.approx(-float(grad(p)))


def test_the_penalty_is_relative_to_the_cost_which_it_does_not_scale_in_the_gradient():
    q = at(0.5)
    penalised = RAIL.penalised(jnp.array([8.0]), q, 2.0)
    assert float(penalised[0]) == pytest.approx(8 * (1 + 2 * closeness(0.5)))
    assert float(jax.grad(lambda cost: RAIL.penalised(cost[None], q, 2.0)[0])(8.0)) == 1.0


def test_the_fraction_of_particles_that_leave_is_counted():
    q = np.zeros((4, 5, 2))
    q[2, 0, 0], q[3, 1, 0], q[1, 2, 0] = 0.6, -0.51, 0.5
    assert RAIL.leaving(q) == pytest.approx(0.4)


@pytest.fixture(scope="module")
def known(small, model):
    settings = OptimiserSettings(particles=4, steps=6, tolerance=0.0, gradient_decay=1.0)
    return small, model.posterior.cast("float32"), settings, jax.random.key(0)


def optimised(known, **changes):
    """The policy and the weights after every chunk of two steps."""
    simulator, *rest = known
    states = []
    simulator = dataclasses.replace(simulator, **changes)
    found = Optimisation(simulator, *rest).run(Watcher(), checkpoint=states.append)
    return found, [state.weight for state in states]


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(optimise, "chunk_size", lambda *_: 2)


def test_the_weight_grows_while_too_many_particles_leave_and_compiles_nothing(known, chunks_of_two):
    optimised(known, safe=NARROW)
    compiled = gradient._gradient_steps._cache_size()
    _, weights = optimised(known, safe=NARROW)
    assert weights == [constraint.FIRST * constraint.GROWTH**k for k in range(1, len(weights) + 1)]
    assert gradient._gradient_steps._cache_size() == compiled


def test_without_a_safe_range_the_weight_changes_nothing_to_the_bit(known, chunks_of_two):
    (plain, weights), simulator = optimised(known), known[0]
    assert set(weights) == {constraint.FIRST}
    rest = known[1:]
    heavy = Optimisation(simulator, *rest, weight=1e3).run(Watcher())
    np.testing.assert_array_equal(plain.costs, heavy.costs)
    for name, value in plain.params.items():
        np.testing.assert_array_equal(value, heavy.params[name])


def test_ranges_that_no_particle_comes_near_change_next_to_nothing(known, chunks_of_two):
    far = dataclasses.replace(RAIL, low=(-1e3,), high=(1e3,), unit=(1e3,))
    (plain, _), (with_range, weights) = optimised(known), optimised(known, safe=far)
    assert set(weights) == {constraint.FIRST}
    np.testing.assert_allclose(plain.costs, with_range.costs, rtol=1e-6)


def test_the_best_policy_is_evaluated_with_the_present_weight(known, chunks_of_two):
    simulator = dataclasses.replace(known[0], safe=NARROW)
    states = []
    optimisation = Optimisation(simulator, *known[1:])
    optimisation.run(Watcher(), checkpoint=states.append)
    for state in states:
        np.testing.assert_array_equal(state.best.costs, optimisation.evaluate(state.best.params, state.weight))
    rollout = optimisation._unseen(states[-1].best.params)
    cheap, dear = (float(simulator.expected_cost(rollout, weight)) for weight in (1.0, 9.0))
    assert dear - cheap == pytest.approx(
        8 * float(rollout.cost.mean(1).sum() * NARROW.closeness(rollout.q).mean()), rel=1e-4
    )


def test_the_weight_is_part_of_a_checkpoint(known):
    optimisation = Optimisation(dataclasses.replace(known[0], safe=NARROW), *known[1:])
    begun = optimisation.start()
    later = begun._replace(weight=27.0)
    assert begun.restored(later.arrays(), 2).weight == 27.0


def test_the_optimisation_keeps_particles_inside(known):
    """Pushed to one side by the cost, the cart stays on its rail only if that is part of what is optimised."""
    simulator, posterior, settings, key = known
    simulator = dataclasses.replace(simulator, cost=far_away, horizon=12)
    settings = dataclasses.replace(settings, particles=16, steps=60, learning_rate=0.05, dropout=0.0)
    rail = dataclasses.replace(RAIL, low=(-0.1,), high=(0.1,), unit=(0.1,))
    leaving = []
    for weight in (0.0, constraint.FIRST):
        known = dataclasses.replace(simulator, safe=rail), posterior, settings, key
        optimisation = Optimisation(*known, weight=weight)
        found = optimisation.run(Watcher())
        leaving.append(rail.leaving(optimisation._unseen(found.params).q))
    assert leaving[0] > 0.8
    assert leaving[1] < 0.3


def far_away(q):
    return 1 - jnp.exp(-((q[..., 0] - 1.0) ** 2))


def test_narrower_ranges_keep_their_unit():
    assert RAIL.narrowed(0.2) == SafeRanges((0,), (-0.4,), (0.4,), (0.5,))
    one_sided = SafeRanges((0,), (-np.inf,), (2.0,), (0.5,)).narrowed(0.2)
    assert (one_sided.low, one_sided.high) == ((-np.inf,), (1.9,))
