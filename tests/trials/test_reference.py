"""Tasks with a reference to follow."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.model.fit import fit
from vfpilco.model.kernels.expression import parse
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.mlp import MLP
from vfpilco.policy.preparation import policy_inputs, reference_errors
from vfpilco.policy.rbf import FASTEST, RBF, LinearRBF
from vfpilco.rollout.gradient import cost_and_gradient
from vfpilco.rollout.particles import Simulator
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.tasks.start import GaussianStart

HORIZON = 15
GOALS = np.column_stack([np.sin(np.arange(HORIZON + 1) / 4), 0.3 * np.arange(HORIZON + 1) / 4])


def distance(q, r):
    return -jnp.expm1(-((q - r) ** 2).sum(-1))


@pytest.fixture(scope="module")
def explored(explore) -> Trial:
    return explore(0)


@pytest.fixture(scope="module")
def following(task):
    """The cart-pole with a reference."""
    return replace(task, reference=np.zeros((91, 2)))


@pytest.fixture(scope="module")
def model(dynamics, explored) -> Model:
    kinds = tuple(dynamics.state.input_kinds())
    return fit(dynamics.training_set(explored), kernel=parse("se * poly1(rates, inputs)"), kinds=kinds)


@pytest.fixture(scope="module")
def simulator(dynamics, explored, following) -> Simulator:
    return Simulator(
        dynamics=dynamics,
        policy=RBF(12).bind(policy_inputs(dynamics.state, following, [explored])),
        start=GaussianStart((0.0, 0.0), (1e-2, 1e-2)),
        cost=distance,
        horizon=HORIZON,
        reference=tuple(map(tuple, GOALS.tolist())),
    )


def with_noise(simulator: Simulator, *std: float) -> Simulator:
    return replace(simulator, dynamics=replace(simulator.dynamics, sensor=GaussianNoise(std)))


def params_of(simulator):
    params = {name: jnp.asarray(value) for name, value in simulator.policy.init(jax.random.key(1)).items()}
    return {**params, "log_lengthscales": params["log_lengthscales"] + 1.5}


@partial(jax.jit, static_argnames=("simulator", "particles"))
def simulate(simulator, params, posterior, key, particles):
    return simulator.rollout(params, posterior, key, particles)


def test_the_unit_of_an_error_is_its_spread_during_the_exploration(state, explored, following):
    inputs = policy_inputs(state, following, [explored])
    assert len(inputs.scale) == 7 + 2
    np.testing.assert_allclose(inputs.scale[-2:], explored.q.std(0))
    assert not any(inputs.circle[-2:])


def test_gains_on_errors_have_a_higher_learning_rate_when_errors_are_smaller(state, explored, task, following):
    policy = LinearRBF(5).bind(policy_inputs(state, following, [explored]))
    params, limits = policy.init(jax.random.key(0)), task.machine.limits
    later = replace(explored, q=explored.q * [0.25, 1e-4])
    for trial, expected in ((explored, (1, 1)), (later, (4, FASTEST))):
        rates = policy.learning_rates(params, limits, reference_errors(following, trial))
        np.testing.assert_allclose(rates["gains"][-2:, 0] / 10, expected, rtol=1e-6)
        assert np.all(rates["gains"][:-2] == 10)
        assert np.all(rates["weights"] == 1)  # a tenth of the limit
        assert all(np.all(rates[name] == 1) for name in ("centers", "log_lengthscales"))
    assert reference_errors(task, later) is None
    assert np.all(policy.learning_rates(params, limits, None)["gains"] == 10)


@pytest.mark.parametrize(
    ("policy", "names"), [(LinearRBF(5), ("weights", "gains")), (RBF(5), ("weights",)), (MLP(5), ())]
)
def test_learning_rates_of_weights_and_gains_are_proportional_to_the_input_limit(state, explored, task, policy, names):
    bound = policy.bind(policy_inputs(state, task, [explored]))
    params = bound.init(jax.random.key(0))
    default, slower = (bound.learning_rates(params, np.array([limit]), None) for limit in (10.0, 0.07))
    for name in params:
        np.testing.assert_allclose(slower[name] / default[name], 0.007 if name in names else 1.0)


def test_basis_functions_start_near_the_angles_of_the_reference(state, explored, task):
    reference = np.stack([np.zeros(91), np.linspace(0.5, 0.9, 91)], axis=1)
    policy = RBF(200).bind(policy_inputs(state, replace(task, reference=reference), [explored]))
    centers = policy.init(jax.random.key(0))["centers"]
    angle = np.arctan2(centers[:, 1], centers[:, 2])
    assert 0.2 <= angle.min() < 0.25
    assert 1.15 < angle.max() <= 1.2


def test_the_cost_of_particles_is_that_of_the_reference_at_the_same_sample(simulator, model):
    found = simulate(simulator, params_of(simulator), model.posterior.cast("float64"), jax.random.key(0), 6)
    expected = 1 - np.exp(-((np.asarray(found.q) - GOALS[:, None]) ** 2).sum(-1))
    np.testing.assert_allclose(found.cost, expected, rtol=1e-9)


def test_the_learned_policy_computes_the_inputs_of_the_particles(simulator, model):
    # Without measurement errors a particle's inputs are those of the learned policy on its positions.
    quiet, params = with_noise(simulator, 0.0, 0.0), params_of(simulator)
    found = simulate(quiet, params, model.posterior.cast("float64"), jax.random.key(0), 3)
    learned = LearnedPolicy(simulator.dynamics.state, simulator.policy, params, GOALS)
    for m in range(3):
        learned.reset()
        u = [learned(np.asarray(q[m])) for q in found.q[:-1]]
        np.testing.assert_allclose(found.u[:, m], u, rtol=1e-7, atol=1e-9)
    assert np.ptp(found.u) > 0.1


def test_the_error_that_the_policy_sees_is_measured_with_noise(simulator, model):
    loud, params = with_noise(simulator, 0.1, 0.1), params_of(simulator)
    # Only the errors matter to this policy: along all other inputs its basis functions are far wider than the data.
    params["log_lengthscales"] = jnp.asarray([12.0] * 7 + [0.5] * 2)
    one, other = (
        simulate(s, params, model.posterior.cast("float64"), jax.random.key(0), 50) for s in (simulator, loud)
    )
    np.testing.assert_array_equal(one.q[0], other.q[0])
    assert np.abs(np.asarray(one.u[0] - other.u[0])).mean() > 3 * np.asarray(one.u[0]).std()


def test_the_gradient_includes_what_the_policy_sees_of_the_errors(simulator, model):
    params, posterior, key = params_of(simulator), model.posterior.cast("float64"), jax.random.key(2)
    run = jax.jit(lambda p: cost_and_gradient(simulator, p, posterior, key, 4, None))
    _, gradient = run(params)
    for index in [(3, 7), (5, 8)]:
        h = 1e-5
        up, down = (float(run({**params, "centers": params["centers"].at[index].add(s)})[0]) for s in (h, -h))
        assert float(gradient["centers"][index]) == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-7)
    assert np.abs(np.asarray(gradient["centers"])[:, 7:]).max() > 1e-6


def test_a_saved_policy_contains_its_reference_and_stays_at_its_last_row(simulator, tmp_path):
    params = {name: np.asarray(value) for name, value in params_of(simulator).items()}
    learned = LearnedPolicy(simulator.dynamics.state, simulator.policy, params, GOALS)
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


def test_the_cost_of_a_task_with_a_reference_takes_both(task, following):
    replace(following, cost=distance).check()
    with pytest.raises(UserError, match="cost of task 'cartpole' failed"):
        following.check()
