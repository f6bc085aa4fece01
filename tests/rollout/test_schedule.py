from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.model.kernels import SE
from vfpilco.model.posterior import Posterior
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.rbf import RBF
from vfpilco.rollout.optimise import Optimisation
from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.race import Start
from vfpilco.rollout.schedule import CHUNK_STEPS, chunk_size, phases, steps_left
from vfpilco.rollout.settings import OptimiserSettings


@pytest.fixture(scope="module")
def simulator(dynamics, task) -> Simulator:
    policy = RBF(4).bind(PolicyInputs((1.0,) * 7, (10.0,), (False, True, True, False, False, False, False)))
    return Simulator(dynamics=dynamics, policy=policy, start=task.start, cost=task.cost, horizon=90)


def optimisation(simulator: Simulator, **settings) -> Optimisation:
    """An optimisation that is never run: nothing depends on its posterior."""
    params = {"log_lengthscales": np.zeros((2, 9)), "log_scale": np.zeros(2)}
    posterior = Posterior(SE(), params, np.zeros((2, 1, 9)), np.zeros((2, 1)), np.zeros((2, 1, 1)), np.ones(2))
    return Optimisation(simulator, posterior, OptimiserSettings(particles=4, **settings), jax.random.key(0))


def test_phases_have_smaller_steps_and_less_dropout_one_after_the_other():
    found = phases(OptimiserSettings(steps=600, learning_rate=0.01, final_learning_rate=0.0025, dropout=0.25))
    assert [phase.steps for phase in found] == [300, 150, 150]
    assert [phase.rate for phase in found] == pytest.approx([0.01, 0.005, 0.0025])
    assert [phase.dropout for phase in found] == [0.25, 0.125, 0.0]


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 7, 20, 601])
def test_phases_add_up_to_the_number_of_steps(steps):
    found = phases(OptimiserSettings(steps=steps))
    assert sum(phase.steps for phase in found) == steps
    assert all(phase.steps > 0 for phase in found)


def test_a_policy_that_succeeded_needs_no_large_steps():
    settings = OptimiserSettings(steps=600)
    assert phases(settings, succeeded=True) == phases(settings)[1:]
    assert phases(OptimiserSettings(steps=1), succeeded=True) == phases(OptimiserSettings(steps=1))


def test_chunks_of_steps_are_shorter_for_more_work(simulator):
    sizes = [chunk_size(simulator, OptimiserSettings(particles=particles)) for particles in (40, 400, 4000, 400_000)]
    assert sizes == [CHUNK_STEPS, CHUNK_STEPS, 5, 5]
    assert chunk_size(simulator, OptimiserSettings(particles=1000)) == 20


def test_the_state_of_an_optimisation_survives_a_file_to_the_bit(simulator):
    start = optimisation(simulator, clip=3.0).start()
    other = optimisation(simulator, clip=3.0).start(redraw=2)._replace(phase=1, begun=7, costs=np.ones(9, "float32"))
    restored = start.restored(other.arrays(), shards=2)
    assert (restored.redraw, restored.phase, restored.begun) == (2, 1, 7)
    assert jax.tree.structure(restored) == jax.tree.structure(other)
    for name, array in restored.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name])


@pytest.mark.parametrize("settings", [{"precision": "float64"}, {"clip": 0.0}])
def test_the_state_of_another_optimisation_is_rejected(simulator, settings):
    other = optimisation(simulator, **settings).start().arrays()
    with pytest.raises(ValueError, match="it is of another optimisation"):
        optimisation(simulator).start().restored(other, shards=2)


def test_an_optimisation_continues_from_the_policy_before_unless_it_is_redrawn(simulator):
    fresh = optimisation(simulator)
    before = {name: np.asarray(value) + 1 for name, value in fresh.start().adam.params.items()}
    warm = dataclasses.replace(fresh, starts=(Start("the last policy", before),))
    for name, value in before.items():
        np.testing.assert_array_equal(warm.start().adam.params[name], value)
    redrawn = [optimised.start(redraw=1).adam.params for optimised in (fresh, warm)]
    for name in before:
        np.testing.assert_array_equal(redrawn[0][name], redrawn[1][name])


def test_with_the_rule_of_the_authors_a_phase_may_take_all_steps_that_are_left():
    settings = OptimiserSettings(steps=600, stop_rule="drift")
    planned = phases(settings, succeeded=True)
    assert [phase.rate for phase in planned] == pytest.approx([0.01, 0.005, 0.0025])
    assert steps_left(settings, planned[1], 100, 350) == 150
    assert steps_left(OptimiserSettings(steps=600), planned[1], 100, 350) == 50


def test_the_first_trial_may_have_another_number_of_steps():
    settings = OptimiserSettings(steps=4000, first_steps=2000)
    assert [settings.for_trial(trial).steps for trial in (1, 2, 3)] == [2000, 4000, 4000]
    assert OptimiserSettings(steps=4000).for_trial(1).steps == 4000


@pytest.mark.parametrize(
    ("wrong", "message"), [({"stop_rule": "never"}, "stop_rule"), ({"dropout_draw": "trial"}, "dropout_draw")]
)
@pytest.mark.usefixtures("as_users_run_it")
def test_unknown_rules_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        OptimiserSettings(**wrong)
