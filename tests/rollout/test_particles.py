from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from vfpilco.common.random import JaxRandom
from vfpilco.policy.base import BoundPolicy, PolicyInputs
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF
from vfpilco.rollout import gradient as gradients
from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.schedule import Phase
from vfpilco.state.window import Window
from vfpilco.tasks.sensors import GaussianNoise, Sensor, TimingJitter

SCALE = (1.0, 1.0, 1.0, 0.03, 0.1, 0.03, 0.1)
CIRCLE = (False, True, True, False, False, False, False)
INPUTS = PolicyInputs(SCALE, (10.0,), CIRCLE)
NETWORK = RBF(8).bind(INPUTS)
NEURAL = MLP(6).bind(INPUTS)
HORIZON, PARTICLES = 12, 5
QUIET, LOUD = GaussianNoise((0.0, 0.0)), GaussianNoise((0.05, 0.05))


@dataclass(frozen=True)
class FixedNoise(Sensor):
    """A sensor whose errors are known beforehand: e_t = std · sin(1 + 7t + 3m + 5i)."""

    std: tuple[float, ...]

    def noise(self, random, shape):
        t, m, i = np.indices(shape)
        return jnp.asarray(np.sin(1 + 7 * t + 3 * m + 5 * i) * self.std, random.dtype)

    def measure(self, memory, q, noise):
        return q + noise, memory

    def errors(self, particles: int) -> np.ndarray:
        """The errors of all samples."""
        return np.asarray(self.noise(JaxRandom(None, "float64"), (HORIZON, particles, 2)))


@pytest.fixture(scope="module")
def simulator(dynamics, task) -> Simulator:
    return Simulator(dynamics=dynamics, policy=NETWORK, start=task.start, cost=task.cost, horizon=HORIZON)


def with_sensor(simulator: Simulator, sensor: Sensor) -> Simulator:
    return replace(simulator, dynamics=replace(simulator.dynamics, sensor=sensor))


def params_of(policy) -> dict[str, jax.Array]:
    params = {name: jnp.asarray(value) for name, value in policy.init(jax.random.key(1)).items()}
    if isinstance(policy, RBF):
        params["log_lengthscales"] = params["log_lengthscales"] + 0.8
    return params


def moved(value, index, step) -> np.ndarray:
    value = np.array(value)
    value[index] += step
    return value


@partial(jax.jit, static_argnames=("simulator", "particles"))
def simulate(simulator, params, posterior, key, particles, dropout):
    return simulator.rollout(params, posterior, key, particles, dropout)


@partial(jax.jit, static_argnames="simulator")
def cost_and_gradient(simulator, params, posterior, key, dropout):
    return gradients.cost_and_gradient(simulator, params, posterior, key, PARTICLES, dropout)


def rollout(simulator, model, *, particles=PARTICLES, params=None, seed=0, dropout=None):
    params = params_of(simulator.policy) if params is None else params
    found = simulate(simulator, params, model.posterior, jax.random.key(seed), particles, dropout)
    return jax.tree.map(np.asarray, found)


@pytest.mark.parametrize(
    ("policy", "dropout"),
    [(NETWORK, None), (NETWORK, 0.25), (NEURAL, 0.25)],
    ids=["rbf", "rbf-dropout", "mlp-dropout"],
)
def test_gradient_of_the_expected_cost_agrees_with_finite_differences(policy, dropout, simulator, model):
    simulator = replace(simulator, policy=policy)
    params = params_of(policy)

    def at(params):
        return cost_and_gradient(simulator, params, model.posterior, jax.random.key(3), dropout)

    _, gradient = at(params)
    assert gradient.keys() == params.keys()
    rng = np.random.default_rng(0)
    for name, value in params.items():
        derivatives = np.asarray(gradient[name])
        largest = np.abs(derivatives).max()
        assert largest > 1e-4, name
        chosen = [np.unravel_index(np.abs(derivatives).argmax(), derivatives.shape)]
        chosen += [tuple(rng.integers(n) for n in derivatives.shape) for _ in range(3)]
        for index in chosen:
            h = 1e-5
            up, down = (float(at({**params, name: moved(value, index, s)})[0]) for s in (h, -h))
            assert derivatives[index] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4 * largest), (
                name,
                index,
            )


def test_expected_cost_sums_over_time_the_mean_over_particles(simulator, model, task):
    found = rollout(simulator, model, seed=3)
    assert found.q.shape == (HORIZON + 1, PARTICLES, 2)
    assert found.u.shape == (HORIZON, PARTICLES, 1)
    by_hand = 1 - np.exp(-(((np.abs(found.q[..., 1]) - np.pi) / 3) ** 2) - found.q[..., 0] ** 2)
    np.testing.assert_allclose(found.cost, by_hand, rtol=1e-12)
    total = sum(by_hand[t].mean() for t in range(HORIZON + 1))
    expected, _ = cost_and_gradient(simulator, params_of(NETWORK), model.posterior, jax.random.key(3), None)
    assert float(expected) == pytest.approx(total, rel=1e-12)


def test_cost_and_dynamics_do_not_depend_on_measurement_errors(simulator, model):
    passive = params_of(NETWORK)
    passive["weights"] = 0 * passive["weights"]
    quiet, loud = (
        rollout(with_sensor(simulator, sensor), model, params=passive, particles=200) for sensor in (QUIET, LOUD)
    )
    np.testing.assert_array_equal(quiet.q, loud.q)
    np.testing.assert_array_equal(quiet.cost, loud.cost)


def test_policy_sees_measurement_errors_from_the_first_sample_on(simulator, model):
    quiet, loud = (rollout(with_sensor(simulator, sensor), model, particles=200) for sensor in (QUIET, LOUD))
    np.testing.assert_array_equal(quiet.q[0], loud.q[0])
    assert np.all(quiet.u != loud.u)


def test_the_policy_is_applied_to_the_window_of_noisy_positions(simulator, state, model):
    # Position memory 1: the older differences are left out of the inputs of the GPs and of the policy.
    built, kept = model.posterior, np.r_[0:5, 7:9]
    params = {**built.params, "log_lengthscales": built.params["log_lengthscales"][:, kept]}
    shorter = replace(model, posterior=replace(built, params=params, z=built.z[..., kept]))
    policy = RBF(8).bind(PolicyInputs(SCALE[:5], (10.0,), CIRCLE[:5]))
    sensor = FixedNoise((0.01, 0.02))
    dynamics = replace(simulator.dynamics, sensor=sensor, state=replace(state, m_q=1))
    found = rollout(replace(simulator, dynamics=dynamics, policy=policy), shorter)
    params = {name: np.asarray(value) for name, value in params_of(policy).items()}
    measured = found.q[:-1] + sensor.errors(PARTICLES)
    for t in range(HORIZON):
        p, alpha = measured[t].T
        x = np.column_stack([p, np.sin(alpha), np.cos(alpha), measured[t] - measured[max(t - 1, 0)]])
        np.testing.assert_allclose(found.u[t], policy(params, x), rtol=1e-8)
    assert np.ptp(found.u) > 0.1


def test_steps_are_drawn_from_the_latent_posterior_at_the_true_positions(simulator, state, model):
    particles = 200
    found = rollout(with_sensor(simulator, LOUD), model, particles=particles)
    z = []
    for t in range(HORIZON):
        q = np.stack([found.q[max(t - i, 0)] for i in range(3)], axis=1)
        before = found.u[t - 1] if t else np.zeros((particles, 1))
        p, alpha = q[:, 0].T
        last, older = q[:, 0] - q[:, 1], q[:, 1] - q[:, 2]
        x = np.column_stack([p, np.sin(alpha), np.cos(alpha), last, older, found.u[t], before])
        np.testing.assert_allclose(x, state.gp_input(Window(q, before[:, None]), found.u[t]))
        mean, variance = model.predict(x)
        z.append((found.q[t + 1] - found.q[t] - last - mean) / np.sqrt(variance))
    z = np.array(z)
    assert kstest(z.ravel(), "norm").pvalue > 1e-3
    np.testing.assert_allclose(z.std((0, 1)), 1, atol=0.05)
    assert abs(np.mean(z[1:] * z[:-1])) < 0.07  # independent in time,
    assert abs(np.mean(z[:, 1:] * z[:, :-1])) < 0.07  # between particles
    assert abs(np.mean(z[..., 0] * z[..., 1])) < 0.07  # and between joints


def test_one_particle_without_uncertainty_follows_a_numpy_loop(simulator, model):
    # A signal of 2e-9 with weights as much larger: the same mean, and next to no variance.
    built = model.posterior
    params = {**built.params, "log_scale": built.params["log_scale"] - 20}
    certain = replace(built, params=params, a=built.a * np.exp(40), w=0 * built.w)
    sensor = FixedNoise((1e-3, 2e-3))
    found = rollout(with_sensor(simulator, sensor), replace(model, posterior=certain), particles=1)
    params = {name: np.asarray(value) for name, value in params_of(NETWORK).items()}
    noise = sensor.errors(1)
    q, seen, u = [found.q[0, 0]] * 3, [found.q[0, 0] + noise[0, 0]] * 3, [np.zeros(1)]
    for t in range(HORIZON):
        x = [seen[-1][0], np.sin(seen[-1][1]), np.cos(seen[-1][1]), *(seen[-1] - seen[-2]), *(seen[-2] - seen[-3])]
        u.append(NETWORK(params, np.array(x)))
        x = [q[-1][0], np.sin(q[-1][1]), np.cos(q[-1][1]), *(q[-1] - q[-2]), *(q[-2] - q[-3]), *u[-1], *u[-2]]
        mean, _ = model.predict(np.array([x]))
        q.append(q[-1] + (q[-1] - q[-2]) + mean[0])
        if t + 1 < HORIZON:
            seen.append(q[-1] + noise[t + 1, 0])
    np.testing.assert_allclose(found.q[:, 0], q[2:], atol=1e-7)
    np.testing.assert_allclose(found.u[:, 0], u[1:], atol=1e-5)
    assert np.abs(found.q[-1]).max() > 0.05


def test_dropout_removes_the_same_basis_functions_along_all_of_a_trajectory(simulator, model):
    params = params_of(NETWORK)
    params["log_lengthscales"] = params["log_lengthscales"] + 12.0  # every basis function is one everywhere
    dropped = rollout(simulator, model, params=params, particles=40, dropout=0.5)
    np.testing.assert_allclose(np.ptp(dropped.u, axis=0), 0, atol=1e-4)
    assert np.unique(np.round(dropped.u[0], 3)).size > 20


def test_particles_start_at_rest_from_the_given_distribution(simulator, model, task):
    q0 = np.asarray(task.start.sample(JaxRandom(jax.random.key(0), "float64"), 4000))
    np.testing.assert_allclose(q0.std(0), 1e-2, rtol=0.05)
    np.testing.assert_allclose(q0.mean(0), 0, atol=1e-3)
    found = rollout(with_sensor(simulator, LOUD), model, particles=200)
    assert np.all(np.abs(found.q[0]) < 0.06)
    assert np.unique(found.q[0]).size == found.q[0].size


def reach(q):
    return (q[..., 0] - 0.3) ** 2


def optimised(simulator, model, seed: int):
    """Fifty gradient steps in float32 on two shards; parameters and costs."""
    simulator = replace(simulator, cost=reach)
    params = {name: value.astype("float32") for name, value in params_of(NETWORK).items()}
    start = gradients.begin(params, jax.random.key(seed), 2)
    phase = Phase(25, 0.05, 0.25)
    objective = gradients.Objective.of(simulator, model.posterior.cast("float32"), params, None, shards=2)
    half, first = gradients.gradient_steps(simulator, start, objective, phase, gradients.Sampling(8, 2))
    after, second = gradients.gradient_steps(simulator, half, objective, phase, gradients.Sampling(8, 2))
    return after.params, np.concatenate([first, second])


def test_sharded_optimisation_repeats_to_the_bit(simulator, model):
    (first, costs), (again, costs_again), (_, other) = (optimised(simulator, model, seed) for seed in (0, 0, 1))
    assert costs.shape == (50,)
    np.testing.assert_array_equal(costs, costs_again)
    for name in first:
        np.testing.assert_array_equal(np.asarray(first[name]), np.asarray(again[name]))
    assert np.all(costs != other)


def test_optimisation_lowers_the_cost(simulator, model):
    _, costs = optimised(simulator, model, seed=0)
    assert np.mean(costs[-10:]) < 0.8 * np.mean(costs[:10])


def test_only_gradients_far_longer_than_the_mean_are_clipped():
    rng = np.random.default_rng(0)
    clip = gradients.clipped(3.0)
    state = clip.init({"a": jnp.zeros(4)})
    for i in range(50):
        gradient = {"a": jnp.asarray(rng.normal(size=4))}
        kept, state = clip.update(gradient, state)
        if i > 20:
            np.testing.assert_allclose(kept["a"], gradient["a"])
    mean = float(state)
    assert 1 < mean < 3
    huge = {"a": jnp.asarray([1e6, 0.0, -1e6, 0.0])}
    kept, after = clip.update(huge, state)
    assert float(jnp.linalg.norm(kept["a"])) == pytest.approx(3 * mean, rel=1e-5)
    assert float(after) < 1.2 * mean
    # Where gradients remain longer, the mean follows.
    for _ in range(200):
        kept, state = clip.update(huge, state)
    np.testing.assert_allclose(kept["a"], huge["a"], rtol=1e-6)


def test_one_outlier_does_not_stop_the_optimisation():
    def distances(clip: float) -> list[float]:
        """How far from its goal Adam is, step by step; the gradient of step 20 is an outlier."""
        adam, x, found = gradients.adam(clip), jnp.array([3.0]), []
        state = adam.init(x)
        for i in range(400):
            gradient = jnp.array([-1e5]) if i == 20 else x
            step, state = adam.update(gradient, state)
            x = x - 0.01 * step
            found.append(abs(float(x[0])))
        return found

    assert distances(3.0)[-1] < 0.6 < 1 < distances(0.0)[-1]


def test_gradient_decay_scales_propagated_gradients_and_changes_nothing_else(simulator, model):
    params, key = params_of(NETWORK), jax.random.key(3)

    def cost(params, decay, last):
        rolled = simulator.rollout(params, model.posterior, key, PARTICLES, None, decay)
        return rolled.cost.mean(1)[last], rolled.q

    gradient = jax.jit(jax.value_and_grad(cost, has_aux=True))
    (_, q), exact = gradient(params, 1.0, 1)
    (_, same), half = gradient(params, 0.5, 1)
    np.testing.assert_array_equal(q, same)
    np.testing.assert_allclose(half["weights"], exact["weights"])  # the last input acts on it directly
    (_, _), exact = gradient(params, 1.0, 2)
    (_, _), none = gradient(params, 1e-12, 2)
    (_, _), half = gradient(params, 0.5, 2)
    np.testing.assert_allclose(half["weights"], (exact["weights"] + none["weights"]) / 2, rtol=1e-6)
    assert np.abs(exact["weights"] - none["weights"]).max() > 1e-6


class Echo(RBF):
    """A policy that returns the first position that it sees."""

    def __call__(self, params, x, keep=None):
        return x[:, :1]


def test_timing_jitter_disturbs_the_measurements_of_moving_particles(simulator, model):
    echoing = replace(with_sensor(simulator, TimingJitter(QUIET, 0.1)), policy=Echo(8).bind(INPUTS))
    rolled = echoing.rollout({}, model.posterior, jax.random.key(3), 2000)
    q, seen = np.asarray(rolled.q)[..., 0], np.asarray(rolled.u)[..., 0]
    np.testing.assert_allclose(seen[0], q[0])  # nothing moves yet
    off = ((seen - q[:-1])[1:] / np.diff(q, axis=0)[:-1]).T  # in sampling times
    assert np.std(off) == pytest.approx(0.1, rel=0.05)
    assert np.abs(np.corrcoef(off[:, 0], off[:, 1])[0, 1]) < 0.1


@dataclass(frozen=True)
class OneSampleLate(Sensor):
    """A sensor that remembers: it measures where the machine was one sample ago."""

    def begin(self, q):
        return q

    def measure(self, memory, q, noise):
        return memory, q


def test_a_sensor_with_a_memory_is_simulated_sample_by_sample(simulator, model):
    echoing = replace(with_sensor(simulator, OneSampleLate()), policy=Echo(8).bind(INPUTS))
    rolled = echoing.rollout({}, model.posterior, jax.random.key(3), 20)
    q, seen = np.asarray(rolled.q)[..., 0], np.asarray(rolled.u)[..., 0]
    np.testing.assert_array_equal(seen[0], q[0])
    np.testing.assert_array_equal(seen[1:], q[:-2])
    assert np.ptp(q) > 1e-3


@dataclass(frozen=True)
class MaskShown(BoundPolicy):
    """A policy whose input is what is dropped."""

    def __call__(self, params, x, keep=None):
        return keep

    def dropout(self, key, particles, rate, dtype):
        return jax.random.uniform(key, (particles, 1), dtype)


def test_dropout_is_drawn_once_per_rollout_or_anew_at_every_step(simulator, model):
    shown = replace(simulator, policy=MaskShown().bind(INPUTS))
    once, anew = (
        np.asarray(rollout(replace(shown, redraw_dropout=redraw), model, params={}, dropout=0.25).u)[..., 0]
        for redraw in (False, True)
    )
    assert np.all(once == once[0])
    assert len(np.unique(once[0])) == PARTICLES
    assert len(np.unique(anew)) == HORIZON * PARTICLES
