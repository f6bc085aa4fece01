from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco import gp, optimise, policies
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.exploration import RandomPD
from vfpilco.kernels import Form
from vfpilco.particles import Simulator
from vfpilco.sensors import GaussianNoise
from vfpilco.start import GaussianStart

HORIZON = 15
GOALS = np.column_stack([np.sin(np.arange(HORIZON + 1) / 4), 0.3 * np.arange(HORIZON + 1) / 4])


def distance(q, r):
    return -jnp.expm1(-((q - r) ** 2).sum(-1))


@pytest.fixture(scope="module")
def explored(explore):
    return explore(0)


@pytest.fixture(scope="module")
def model(history, explored):
    data = history.training_set(explored)
    form = Form("se * poly1(rates, inputs)", tuple(history.input_kinds()))
    return gp.fit(data, len(data.x), None, form=form)


@pytest.fixture(scope="module")
def simulator(history, explored, task):
    policy = policies.make("rbf", 12, history, replace(task, reference=np.zeros((91, 2))), [explored])
    start = GaussianStart((0.0, 0.0), (1e-2, 1e-2))
    goals = tuple(map(tuple, GOALS.tolist()))
    return Simulator(history, policy, GaussianNoise((1e-3, 2e-3)), start, distance, HORIZON, 0.0, goals)


def params_of(simulator):
    params = {name: jnp.asarray(value) for name, value in simulator.policy.init(jax.random.key(1)).items()}
    return {**params, "log_lengthscales": params["log_lengthscales"] + 1.5}


@partial(jax.jit, static_argnames=("simulator", "particles"))
def simulate(simulator, params, posterior, key, particles):
    return simulator.rollout(params, posterior, key, particles)


def test_the_unit_of_an_error_is_its_spread_during_the_exploration(history, explored, task):
    following = replace(task, reference=np.zeros((91, 2)))
    policy = policies.make("rbf", 5, history, following, [explored])
    assert len(policy.scale) == 7 + 2
    np.testing.assert_allclose(policy.scale[-2:], explored.q.std(0))
    assert not any(policy.circle[-2:])


def test_gains_on_errors_are_learned_faster_when_errors_are_smaller(history, explored, task):
    following = replace(task, reference=np.zeros((91, 2)))
    policy = policies.make("linear-rbf", 5, history, following, [explored])
    params = policy.init(jax.random.key(0))
    later = replace(explored, q=explored.q * [0.25, 1e-4])
    for trials, expected in (([explored], (1, 1)), ([explored, later], (4, policies.FASTEST))):
        speeds = policies.speeds(policy, params, following, trials)
        np.testing.assert_allclose(speeds["gains"][-2:, 0] / 10, expected, rtol=1e-6)
        assert np.all(speeds["gains"][:-2] == 10)
        assert all(np.all(speeds[name] == 1) for name in ("centers", "weights", "log_lengthscales"))
    assert np.all(policies.speeds(policy, params, task, [explored, later])["gains"] == 10)


def test_steps_of_weights_and_gains_are_shares_of_the_inputs_limit(history, explored, task):
    weak = replace(task, inputs=(replace(task.inputs[0], limit=0.07),))
    for kind, names in (("linear-rbf", ("weights", "gains")), ("rbf", ("weights",)), ("mlp", ())):
        policy = policies.make(kind, 5, history, task, [explored])
        params = policy.init(jax.random.key(0))
        usual, slower = (policies.speeds(policy, params, each, [explored]) for each in (task, weak))
        for name in params:
            np.testing.assert_allclose(slower[name] / usual[name], 0.007 if name in names else 1.0)


def test_basis_functions_start_near_the_angles_to_be_followed(history, explored, task):
    reference = np.stack([np.zeros(91), np.linspace(0.5, 0.9, 91)], axis=1)
    policy = policies.make("rbf", 200, history, replace(task, reference=reference), [explored])
    centers = policy.init(jax.random.key(0))["centers"]
    angle = np.arctan2(centers[:, 1], centers[:, 2])
    assert 0.2 <= angle.min() < 0.25
    assert 1.15 < angle.max() <= 1.2


def test_particles_are_charged_for_their_distance_from_the_reference_at_their_time(simulator, model):
    found = simulate(simulator, params_of(simulator), model.posterior.cast("float64"), jax.random.key(0), 6)
    expected = 1 - np.exp(-((np.asarray(found.q) - GOALS[:, None]) ** 2).sum(-1))
    np.testing.assert_allclose(found.cost, expected, rtol=1e-9)


def test_the_machine_is_given_what_particles_are_given(simulator, model):
    # Without measurement errors a particle's inputs are those of the learned policy on its positions.
    quiet = replace(simulator, sensor=GaussianNoise((0.0, 0.0)))
    params = params_of(simulator)
    found = simulate(quiet, params, model.posterior.cast("float64"), jax.random.key(0), 3)
    learned = LearnedPolicy(simulator.representation, simulator.policy, params, GOALS)
    for m in range(3):
        learned.reset()
        u = [learned(np.asarray(q[m])) for q in found.q[:-1]]
        np.testing.assert_allclose(found.u[:, m], u, rtol=1e-7, atol=1e-9)
    assert np.ptp(found.u) > 0.1


def test_the_error_in_the_policys_input_is_a_noisy_one(simulator, model):
    loud = replace(simulator, sensor=GaussianNoise((0.1, 0.1)))
    params = params_of(simulator)
    # A policy that looks at nothing but the errors: everything else is far wider than its basis functions.
    params["log_lengthscales"] = jnp.asarray([12.0] * 7 + [0.5] * 2)
    one, other = (
        simulate(s, params, model.posterior.cast("float64"), jax.random.key(0), 50) for s in (simulator, loud)
    )
    np.testing.assert_array_equal(one.q[0], other.q[0])
    assert np.abs(np.asarray(one.u[0] - other.u[0])).mean() > 3 * np.asarray(one.u[0]).std()


def test_the_gradient_knows_that_the_policy_sees_the_errors(simulator, model):
    params, posterior, key = params_of(simulator), model.posterior.cast("float64"), jax.random.key(2)
    run = jax.jit(lambda p: optimise.cost_and_gradient(simulator, p, posterior, key, 4, None))
    _, gradient = run(params)
    for index in [(3, 7), (5, 8)]:
        h = 1e-5
        up, down = (float(run({**params, "centers": params["centers"].at[index].add(s)})[0]) for s in (h, -h))
        assert float(gradient["centers"][index]) == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-7)
    assert np.abs(np.asarray(gradient["centers"])[:, 7:]).max() > 1e-6


def test_a_saved_policy_carries_its_reference_and_stays_at_its_end(simulator, tmp_path):
    params = {name: np.asarray(value) for name, value in params_of(simulator).items()}
    learned = LearnedPolicy(simulator.representation, simulator.policy, params, GOALS)
    learned.save(tmp_path / "policy.safetensors")
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors")
    np.testing.assert_array_equal(loaded.reference, GOALS)
    assert loaded.params.keys() == params.keys()
    q = np.array([0.1, 0.2])
    u = [loaded(q) for _ in range(HORIZON + 4)]
    np.testing.assert_array_equal(u[: HORIZON + 1], [learned(q) for _ in range(HORIZON + 1)])
    assert u[1] != u[HORIZON]
    np.testing.assert_array_equal(u[HORIZON + 1 :], [u[HORIZON]] * 3)
    loaded.reset()
    np.testing.assert_array_equal(loaded(q), u[0])


def test_a_task_with_a_reference_needs_a_cost_of_both(task):
    goals = np.zeros((91, 2))
    replace(task, reference=goals, cost=distance).check()
    with pytest.raises(UserError, match="cost of task 'cartpole' failed"):
        replace(task, reference=goals).check()


def test_random_pd_controllers_follow_their_reference_within_the_limits():
    goals = [(0.0,), (1.0,), (0.0,)]
    control = RandomPD(goals, (2.0, 2.0), (0.1, 0.1)).controller(np.random.default_rng(0), 0.5, np.array([1.5]))
    assert control(np.array([0.0]))[0] == 0
    assert control(np.array([0.5]))[0] == pytest.approx(2 * 0.5 - 0.1 * 1.0)
    assert control(np.array([2.0]))[0] == -1.5
