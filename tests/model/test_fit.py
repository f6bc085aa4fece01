from __future__ import annotations

import dataclasses

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from vfpilco.common import interrupts
from vfpilco.data.trial import Trial
from vfpilco.model import evidence
from vfpilco.model import fit as fits
from vfpilco.model.banded import dense
from vfpilco.model.conditioning import condition, posterior_size, predict_reference
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.evidence import NOISE_STD, Hyperparameters, initial, loss_and_gradient, noise_covariances
from vfpilco.model.fit import MOST_EXACT, Evidence, fit, paddings, stretches
from vfpilco.model.kernels import SE, Hyperprior
from vfpilco.model.kernels.base import HYPERPRIOR_STD
from vfpilco.model.maximise import FitResult
from vfpilco.model.model import Model
from vfpilco.model.noise import CorrelatedNoise, WhiteNoise
from vfpilco.model.posterior import joint, predict
from vfpilco.model.prior_mean import ConstantVelocity
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise, TimingJitter

SENSOR = np.array([1e-3, 2e-3])
Y_SCALE = np.array([0.02, 3.0])
LENGTHSCALES = np.array([[0.7, 1.5, 4.0], [2.0, 0.9, 1.1]])
SCALE = np.array([1.3, 0.6])
NOISE = np.array([0.05, 0.3])
KERNEL = SE()
THETA = Hyperparameters({"log_lengthscales": np.log(LENGTHSCALES), "log_scale": np.log(SCALE)}, np.log(NOISE))

likelihood = evidence.log_marginal_likelihood


def of_joint(j: int) -> Hyperparameters:
    return joint(THETA, j)


def points(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and standardised targets of two joints."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], np.cos(x[:, 1]) * x[:, 2]])
    return x, y + 0.1 * rng.normal(size=y.shape)


def padded(x: np.ndarray, y: np.ndarray, rows: int, fill: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs padded to `rows`, and targets."""
    return np.pad(x, ((0, rows - len(x)), (0, 0)), constant_values=fill), y


def drawn(n: int, lengthscales: np.ndarray, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sample of a GP with unit signal."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, len(lengthscales)))
    gaps = (x[:, None] - x[None]) / lengthscales
    k = np.exp(-0.5 * (gaps**2).sum(-1)) + 1e-9 * np.eye(n)
    return x, np.linalg.cholesky(k) @ rng.normal(size=n) + noise * rng.normal(size=n)


def conditioned(x: np.ndarray, y: np.ndarray, rows: int, inducing: int, noise=None) -> Model:
    """The model with hyperparameters `THETA`, conditioned on standardised targets and padded to `rows`."""
    data = TrainingSet(x, y * Y_SCALE, 0 * y, noise, rows)
    posterior, _ = condition(KERNEL, THETA, data, Y_SCALE, inducing)
    return Model(KERNEL, (), THETA, posterior, len(x), (0.0, 0.0))


def bands_of(matrix: np.ndarray, diagonals: int = 3) -> np.ndarray:
    return np.stack([np.pad(np.diag(matrix, -k), (0, k)) for k in range(diagonals)])


def hyperprior_of(x: np.ndarray) -> Hyperprior:
    return jax.tree.map(jnp.asarray, initial(KERNEL, x, ()))


def loss_at(theta: Hyperparameters, hyperprior: Hyperprior, data: tuple) -> tuple[float, Hyperparameters]:
    return loss_and_gradient(KERNEL, theta, hyperprior, *data)


def maximise(x: np.ndarray, y: np.ndarray, rows: int, start: Hyperparameters | None = None) -> FitResult:
    return Evidence(KERNEL, (), x, y, rows).maximise(start)


@pytest.mark.parametrize("rows", [40, 55])
def test_predictions_and_likelihood_agree_with_scikit_learn(rows):
    x, y = points(40)
    query = np.random.default_rng(9).normal(size=(25, 3)) * 1.5
    mean, variance = conditioned(x, y, rows, 0).predict(query)
    assert mean.dtype == variance.dtype == np.float64
    for j in range(2):
        kernel = ConstantKernel(SCALE[j] ** 2) * RBF(LENGTHSCALES[j]) + WhiteKernel(NOISE[j] ** 2)
        other = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(x, y[:, j])
        their_mean, their_std = other.predict(query, return_std=True)
        latent = their_std**2 - NOISE[j] ** 2
        np.testing.assert_allclose(mean[:, j] / Y_SCALE[j], their_mean, atol=1e-6)
        np.testing.assert_allclose(variance[:, j] / Y_SCALE[j] ** 2, latent, atol=1e-6)
        ours = likelihood(KERNEL, of_joint(j), *padded(x, y[:, j], rows))
        assert float(ours) == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-6)


def test_model_noise_and_lengthscales_are_in_the_units_of_the_data():
    model = conditioned(*points(40), 40, 0)
    np.testing.assert_allclose(model.noise, NOISE * Y_SCALE)
    np.testing.assert_allclose(model.lengthscales, LENGTHSCALES)


@pytest.mark.parametrize("inducing", [0, 20])
def test_padding_changes_no_prediction(inducing):
    x, y = points(40)
    query = np.random.default_rng(9).normal(size=(25, 3))
    models = [conditioned(x, y, rows, inducing) for rows in (40, 64)]
    for plain, with_padding in zip(*(model.predict(query) for model in models), strict=True):
        np.testing.assert_allclose(with_padding, plain, rtol=1e-9, atol=1e-12)


def test_padding_changes_neither_the_fitted_objective_nor_its_gradient():
    x, y = points(30)
    hyperprior = hyperprior_of(x)
    plain = loss_at(of_joint(0), hyperprior, padded(x, y[:, 0], 30))
    for fill in (0.0, 0.3):
        more = loss_at(of_joint(0), hyperprior, padded(x, y[:, 0], 41, fill))
        for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(more), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10)


@pytest.mark.parametrize("j", [0, 1])
def test_gradient_of_the_fitted_objective_agrees_with_finite_differences(j):
    x, y = points(30)
    hyperprior = hyperprior_of(x)
    data = padded(x, y[:, j], 36)
    flat, unflatten = jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, of_joint(j)))
    gradient = jax.flatten_util.ravel_pytree(loss_at(of_joint(j), hyperprior, data)[1])[0]
    assert len(flat) == 5  # three lengthscales, scale, noise
    for i in range(len(flat)):
        h = 1e-5 * np.eye(len(flat))[i]
        up, down = (float(loss_at(unflatten(flat + s * h), hyperprior, data)[0]) for s in (1, -1))
        assert float(gradient[i]) == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


def test_fitted_objective_is_the_likelihood_up_to_a_constant_and_the_hyperprior():
    x, y = points(30)
    hyperprior, other = hyperprior_of(x), of_joint(0)
    centre = hyperprior.centre
    data = padded(x, y[:, 0], 30)

    def penalised(theta: Hyperparameters) -> float:
        gaps = [
            (theta.kernel["log_lengthscales"] - centre.kernel["log_lengthscales"]) / HYPERPRIOR_STD,
            np.atleast_1d(theta.kernel["log_scale"] - centre.kernel["log_scale"]) / HYPERPRIOR_STD,
            np.atleast_1d(theta.log_noise - centre.log_noise) / NOISE_STD,
        ]
        return -float(likelihood(KERNEL, theta, *data)) + 0.5 * float((np.concatenate(gaps) ** 2).sum())

    ours = [float(loss_at(theta, hyperprior, data)[0]) for theta in (centre, other)]
    assert ours[1] - ours[0] == pytest.approx(penalised(other) - penalised(centre), rel=1e-9)


def test_fit_recovers_a_known_gp_in_the_units_of_the_data():
    x, y = drawn(130, np.array([0.8, 2.0, 50.0]), noise=0.1, seed=4)
    x, unit = x * [1.0, 100.0, 0.01], 0.03
    prior = np.linspace(-5, 5, len(y))[:, None]
    model = fit(TrainingSet(x, unit * y[:, None] + prior, prior, capacity=140))
    assert model.noise[0] == pytest.approx(0.1 * unit, rel=0.12)
    near, far, irrelevant = model.lengthscales[0] / [1.0, 100.0, 0.01]
    assert near == pytest.approx(0.8, rel=0.25)
    assert far == pytest.approx(2.0, rel=0.25)
    assert irrelevant > 8
    mean, _ = model.predict(x)
    assert np.std(mean[:, 0] - unit * y) < 0.11 * unit


def test_fit_ends_no_worse_than_any_of_its_starts():
    x, y = drawn(60, np.array([0.8, 2.0]), noise=0.1, seed=2)
    hyperprior, data = hyperprior_of(x), padded(x, y, 60)
    centre = jax.tree.map(np.asarray, hyperprior.centre)
    rng = np.random.default_rng(0)
    starts = [centre] + [jax.tree.map(lambda leaf: leaf + rng.normal(size=leaf.shape), centre) for _ in range(3)]
    for start in starts:
        at_start = -float(loss_at(start, hyperprior, data)[0])
        theta, reached = maximise(x, y, 60, start)
        assert reached >= at_start
        assert -float(loss_at(theta, hyperprior, data)[0]) == pytest.approx(reached, abs=1e-9)


def test_joints_fitted_together_equal_those_fitted_alone_to_the_bit():
    x, y = points(50)
    together = fit(TrainingSet(x, y, np.zeros((50, 2)), capacity=60))
    for j in range(2):
        alone = maximise(x, (y / y.std(0))[:, j], 60)
        assert together.score[j] == alone.score
        for ours, expected in zip(jax.tree.leaves(together.hyperparameters), jax.tree.leaves(alone[0]), strict=True):
            np.testing.assert_array_equal(ours[j], expected)


@pytest.mark.parametrize("rows", [40, 55])
def test_the_reference_is_the_exact_posterior(rows):
    x, y = points(40)
    data = TrainingSet(x, 3 + y * Y_SCALE, np.full((40, 2), 3.0), capacity=rows)
    exact, projected = (conditioned(x, y, rows, inducing) for inducing in (0, 10))
    assert exact.exact
    assert not projected.exact
    query = np.random.default_rng(9).normal(size=(25, 3)) * 1.5
    for ours, expected in zip(predict_reference(projected, data, query), exact.predict(query), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-9)


def test_warm_start_is_converted_to_the_units_of_the_new_targets_and_never_ends_worse():
    x, y = drawn(60, np.array([0.8, 2.0]), noise=0.1, seed=2)
    more_x, more_y = drawn(60, np.array([0.8, 2.0]), noise=0.1, seed=3)
    zero = np.zeros((60, 1))
    first = TrainingSet(x, 0.02 * y[:, None], zero, capacity=120)
    both = TrainingSet.join([first, TrainingSet(more_x, 0.3 * more_y[:, None], zero)])
    cold = fit(both)
    warm = fit(both, previous=fit(first))
    assert warm.score[0] >= cold.score[0] - 1e-9


def test_nothing_is_fitted_again_to_the_same_data(monkeypatch):
    x, y = points(50)
    data = TrainingSet(x, y, 0 * y)
    once = fit(data)
    monkeypatch.setattr(Evidence, "maximise", None)
    again = fit(data, previous=once)
    assert again.score == once.score
    for ours, expected in zip(
        jax.tree.leaves(again.hyperparameters), jax.tree.leaves(once.hyperparameters), strict=True
    ):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(TypeError):  # other targets are fitted
        fit(data._replace(y=y + 0.01 * x[:, :2]), previous=once)


def test_noise_found_on_the_cartpole_is_about_twice_the_sensors(exact_model):
    ratio = exact_model.noise / SENSOR
    assert np.all(ratio > 1.5), ratio
    assert np.all(ratio < 3.0), ratio


@pytest.mark.parametrize(
    ("rows", "inducing", "expected"),
    [(450, 128, (128, 64)), (1760, 128, (160, 64)), (100, 128, (100, 100)), (1760, 0, (1760, 1760))],
)
def test_the_size_of_the_posterior_follows_from_the_last_trial(rows, inducing, expected):
    assert posterior_size(rows, inducing) == expected


def test_the_sizes_of_exact_fits_are_few_and_small():
    assert paddings(88) == [88]
    assert paddings(250) == [250]
    assert paddings(440) == [220, 440]
    assert paddings(1760) == [220, 440]
    assert paddings(1001) == [126, 251, 501]
    assert paddings(10_000) == [157, 313]


def test_the_noise_found_is_not_below_the_known_least_noise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = np.sin(x[:, :1]) + 0.01 * rng.normal(size=(60, 1))
    data = TrainingSet(x, y, 0 * y)
    free = fit(data).noise
    np.testing.assert_allclose(fit(data, least_noise=[free[0] / 3]).noise, free, rtol=1e-2)
    np.testing.assert_allclose(fit(data, least_noise=[0.05]).noise, 0.05, rtol=1e-6)


def test_correlated_noise_agrees_with_the_dense_formulas():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    steps = np.eye(30, 32) - 2 * np.eye(30, 32, 1) + np.eye(30, 32, 2)
    uneven = steps * rng.uniform(0.1, 2, 32)
    noise = np.stack([bands_of(mixing @ mixing.T) for mixing in (steps, uneven)])
    covariances = [dense(bands) for bands in noise_covariances(TrainingSet(x, y, 0 * y, noise))]
    for covariance, mixing in zip(covariances, (steps, uneven), strict=True):
        together = mixing @ mixing.T
        np.testing.assert_allclose(covariance, 0.98 * together / (np.trace(together) / 30) + 0.02 * np.eye(30))
    assert [np.trace(covariance) for covariance in covariances] == pytest.approx([30, 30])
    query = jnp.asarray(rng.standard_normal((7, 3)))
    for rows, inducing, tolerance in ((30, 0, 1e-8), (40, 0, 1e-8), (40, 30, 1e-5)):
        built = conditioned(x, y, rows, inducing, noise).posterior
        means, variances = (np.asarray(found) for found in jax.jit(predict)(built, query))
        for j in range(2):
            params, log_noise = of_joint(j)
            known = jnp.asarray(x)
            k = np.asarray(KERNEL.cross(params, known, known)) + np.exp(2 * log_noise) * covariances[j]
            across = np.asarray(KERNEL.cross(params, query, known))
            mean = across @ np.linalg.solve(k, y[:, j])
            variance = np.asarray(KERNEL.diagonal(params, query)) - (across * np.linalg.solve(k, across.T).T).sum(1)
            np.testing.assert_allclose(means[:, j], mean * Y_SCALE[j], atol=tolerance)
            if not inducing:
                np.testing.assert_allclose(variances[:, j], variance * Y_SCALE[j] ** 2, atol=1e-8)
            density = float(likelihood(KERNEL, of_joint(j), *padded(x, y[:, j], 30), covariances[j]))
            assert density == pytest.approx(multivariate_normal(np.zeros(30), k).logpdf(y[:, j]))


def test_noise_that_measurements_share_is_not_learned_as_movement():
    # A mass under a known force, measured with noise much larger than the effect of the force in a sample.
    rng, errors = np.random.default_rng(0), {}
    force = np.repeat(rng.uniform(-1, 1, 30), 5)[:, None]
    true = np.cumsum(np.cumsum(np.r_[np.zeros((1, 1)), 1e-3 * force], axis=0), axis=0)
    trial = Trial(true + 2e-3 * rng.standard_normal(true.shape), force, 0.1)
    state = VelocityFree(2, 1).bind(Signals((False,), 1))
    for noise in (WhiteNoise(), CorrelatedNoise()):
        dynamics = Dynamics(state, ConstantVelocity(), noise, GaussianNoise((2e-3,)))
        model = fit(dynamics.training_set(trial), least_noise=dynamics.least_noise())
        test = dynamics.training_set(dataclasses.replace(trial, q=true))
        error = test.prior + model.predict(test.x)[0] - test.y
        errors[type(noise)] = float(np.sqrt(np.mean(error**2)))
    assert errors[CorrelatedNoise] < 0.5 * errors[WhiteNoise]


def test_with_timing_jitter_fast_movements_are_assumed_to_be_measured_worse():
    # It is at rest, then moves by one unit a sample: the errors are those of the sensor, then of the clock.
    q = np.concatenate([np.zeros(10), np.arange(1, 11)])[:, None]
    state, sensor = VelocityFree(2, 1).bind(Signals((False,), 1)), TimingJitter(GaussianNoise((0.01,)), 0.1)
    dynamics = Dynamics(state, ConstantVelocity(), CorrelatedNoise(), sensor)
    noise = dynamics.training_set(Trial(q, np.zeros((19, 1)), 0.1)).noise[0]
    at_rest, moving = 0.01**2, 0.01**2 + 0.1**2
    np.testing.assert_allclose(noise[:, 0], at_rest * np.array([6, -4, 1]))
    np.testing.assert_allclose(noise[:, -3], moving * np.array([6, -4, 1]))


def test_correlated_noise_is_that_of_shared_measurements():
    rng = np.random.default_rng(0)
    t, std = np.array([2, 3, 4, 6, 9, 10]), rng.uniform(0.5, 2, size=(12, 2))
    bands = CorrelatedNoise().covariance([1.0, -1.5, 0.5], t, np.zeros((12, 2)), std)
    for j in range(2):
        mixing = np.zeros((6, 12))
        for row, sample in enumerate(t):
            mixing[row, [sample + 1, sample, sample - 1]] = [1.0, -1.5, 0.5] * std[[sample + 1, sample, sample - 1], j]
        np.testing.assert_allclose(dense(bands[j]), mixing @ mixing.T, atol=1e-12)


def test_of_many_points_stretches_at_even_distances_are_taken():
    assert stretches(300, 313).tolist() == list(range(300))
    rows = stretches(1000, 313)
    assert len(rows) == 300
    assert rows[:50].tolist() == list(range(50))
    assert rows[-50:].tolist() == list(range(950, 1000))
    assert np.all(np.diff(rows) >= 1)


@pytest.fixture(scope="module")
def many(explore, swing) -> tuple[Dynamics, TrainingSet, TrainingSet]:
    """Cart-pole data with correlated noise, more than an exact fit takes, and held-out ones."""
    sensor = GaussianNoise((1e-3, 2e-3))
    state = VelocityFree(2, 1).bind(Signals((False, True), 1, std=sensor.std))
    dynamics = Dynamics(state, ConstantVelocity(), CorrelatedNoise(), sensor)
    trials = [explore(seed) for seed in range(4)] + [swing(10 + i, 4.0 + i) for i in range(4)]
    return dynamics, dynamics.training_sets(trials), dynamics.training_sets([explore(20), swing(21, 6.5)])


@pytest.mark.long
def test_a_fit_by_the_bound_predicts_held_out_data_as_well_as_an_exact_one(many, monkeypatch):
    dynamics, data, held_out = many
    densities = []
    for most in (MOST_EXACT, 10_000):
        monkeypatch.setattr(fits, "MOST_EXACT", most)
        model = fit(data, least_noise=dynamics.least_noise())
        mean, variance = predict_reference(model, data, held_out.x)
        spread, error = variance + model.noise**2, held_out.y - held_out.prior - mean
        densities.append(-0.5 * (error**2 / spread + np.log(2 * np.pi * spread)).mean(0))
    assert len(data.x) > MOST_EXACT
    assert np.all(densities[0] > densities[1] - 0.02), densities


def test_a_stop_that_was_requested_ends_a_fit(monkeypatch):
    monkeypatch.setattr(interrupts, "_requested", True)
    x, y = points(50)
    with pytest.raises(KeyboardInterrupt):
        fit(TrainingSet(x, y, 0 * y))
