from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.model import projection
from vfpilco.model.conditioning import condition, predict_reference
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.evidence import Hyperparameters
from vfpilco.model.fit import fit
from vfpilco.model.kernels import SE
from vfpilco.model.model import MOST_ROUNDING, Model
from vfpilco.model.posterior import FLOOR, Posterior, joint, predict, sample
from vfpilco.trials.choosing import KERNELS
from vfpilco.trials.settings import ModelSettings

KERNEL = SE()
compiled_predict = jax.jit(predict)


@pytest.fixture(scope="module")
def projected_model(cartpole_data, exact_model) -> Model:
    """128 of the 440 points, with the hyperparameters of the exact model."""
    return conditioned(exact_model.hyperparameters, cartpole_data, inducing=128)[0]


@pytest.fixture(scope="module")
def default_model(cartpole_data, state) -> Model:
    """As `learn` makes it by default: the default kernel, as many inducing points as needed, which is 128."""
    return fit(cartpole_data, kernel=KERNELS[0], kinds=tuple(state.input_kinds()), inducing=ModelSettings().inducing)


def conditioned(theta: Hyperparameters, data: TrainingSet, inducing: int, kernel=KERNEL) -> tuple[Model, float]:
    """A model with given hyperparameters, and the fraction that was added to a diagonal."""
    built, added = condition(kernel, theta, data, (data.y - data.prior).std(0), inducing)
    return Model(kernel, (), theta, built, len(data.x), (0.0, 0.0)), added


def scale_of(model: Model) -> np.ndarray:
    """The signal's standard deviation of every joint, on standardised targets."""
    return np.exp(model.hyperparameters.kernel["log_scale"])


def predicted(built: Posterior, x: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance computed in a given precision."""
    mean, variance = compiled_predict(built.cast(dtype), jnp.asarray(x, dtype))
    return np.asarray(mean), np.asarray(variance)


def gram(theta: Hyperparameters, x: np.ndarray) -> np.ndarray:
    """The covariance of the first joint."""
    return np.asarray(KERNEL.cross(joint(theta.kernel, 0), jnp.asarray(x), jnp.asarray(x)))


def textbook(model: Model, data: TrainingSet, j: int, x):
    """Latent mean and variance of joint `j` at one input, written as in a textbook, in JAX and float64."""
    lengthscales, scale = model.lengthscales[j], scale_of(model)[j]
    noise = np.exp(model.hyperparameters.log_noise[j])
    y_scale = np.asarray(model.posterior.y_scale)[j]
    y = (data.y - data.prior)[:, j] / y_scale

    def k(a, b):
        return scale**2 * jnp.exp(-0.5 * (((a[:, None] - b[None]) / lengthscales) ** 2).sum(-1))

    covariance = k(data.x, data.x) + noise**2 * jnp.eye(len(y))
    k_x = k(x[None], data.x)[0]
    mean = k_x @ jnp.linalg.solve(covariance, y)
    variance = scale**2 - k_x @ jnp.linalg.solve(covariance, k_x)
    return mean * y_scale, variance * y_scale**2


def log_density(model: Model, data: TrainingSet) -> np.ndarray:
    mean, variance = model.predict(data.x)
    variance = variance + model.noise**2
    error = data.y - data.prior - mean
    return -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)


def rmse(model: Model, data: TrainingSet) -> np.ndarray:
    return np.sqrt(np.mean((data.y - data.prior - model.predict(data.x)[0]) ** 2, axis=0))


def small_problem(n: int = 40, noise: float = 0.1) -> tuple[Hyperparameters, TrainingSet]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(x[:, 0]) + x[:, 1], np.cos(x[:, 2])]) + 0.1 * rng.normal(size=(n, 2))
    lengthscales = np.array([[0.8, 1.2, 2.0], [1.0, 0.7, 1.5]])
    params = {"log_lengthscales": np.log(lengthscales), "log_scale": np.log([1.2, 0.8])}
    return Hyperparameters(params, np.log([noise, 2 * noise])), TrainingSet(x, y, 0 * y)


def test_projection_on_all_points_is_the_exact_posterior():
    theta, data = small_problem()
    query = np.random.default_rng(1).normal(size=(30, 3)) * 1.5
    k_query = gram(theta, np.r_[data.x, query])
    k, k_query = k_query[:40, :40], k_query[40:, :40]
    exact = projection.exact(k, data.y[:, 0], 0.1)
    projected = projection.projected(k, k, data.y[:, 0], 0.1, rank=40)
    np.testing.assert_allclose(k_query @ projected.a, k_query @ exact.a, atol=1e-6)
    gain, exact_gain = (((k_query @ arrays.w) ** 2).sum(-1) for arrays in (projected, exact))
    np.testing.assert_allclose(gain, exact_gain, atol=1e-6)


def test_exact_posterior_matches_the_textbook(exact_model, cartpole_data, held_out):
    mean, variance = exact_model.predict(held_out.x[:5])
    for j in range(2):
        plain = jax.jit(jax.vmap(lambda x, j=j: textbook(exact_model, cartpole_data, j, x)))
        expected_mean, expected_variance = plain(held_out.x[:5])
        np.testing.assert_allclose(mean[:, j], expected_mean, rtol=1e-6)
        np.testing.assert_allclose(variance[:, j], expected_variance, rtol=1e-4)


def test_projection_predicts_a_held_out_trial_as_well_as_the_exact_posterior(exact_model, projected_model, held_out):
    assert projected_model.posterior.z.shape[1] == 128
    assert np.all(rmse(projected_model, held_out) <= 1.02 * rmse(exact_model, held_out))
    ours, exact = (log_density(model, held_out).mean(0) for model in (projected_model, exact_model))
    assert np.all(ours >= exact - 0.05)


def test_models_are_good_on_a_held_out_trial(exact_model, held_out):
    still = np.sqrt(np.mean((held_out.y - held_out.prior) ** 2, axis=0))
    assert np.all(rmse(exact_model, held_out) < 0.5 * still)
    mean, variance = exact_model.predict(held_out.x)
    z = (held_out.y - held_out.prior - mean) / np.sqrt(variance + exact_model.noise**2)
    np.testing.assert_allclose(np.sqrt(np.mean(z**2, axis=0)), 1, atol=0.35)  # its uncertainty matches its errors


@pytest.mark.parametrize("kind", ["exact", "projected"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_from_the_data_the_prior_returns(kind, dtype, exact_model, projected_model, cartpole_data):
    model = exact_model if kind == "exact" else projected_model
    spread = np.ptp(cartpole_data.x, axis=0) + 8 * model.lengthscales.max(0)
    far = cartpole_data.x.mean(0) + np.array([[1], [-1]]) * spread
    mean, variance = predicted(model.posterior, far, dtype)
    prior = scale_of(model) ** 2 * np.asarray(model.posterior.y_scale) ** 2
    np.testing.assert_allclose(variance, np.broadcast_to(prior, (2, 2)), rtol=0.01)
    np.testing.assert_allclose(mean / np.sqrt(prior), 0, atol=0.01)


def test_derivatives_agree_with_autodiff_of_the_textbook_formula():
    theta, data = small_problem()
    model, _ = conditioned(theta, data, inducing=0)
    built = model.posterior.cast("float64")
    ours = jax.jit(jax.jacrev(lambda x, z: sample(built, x[None], z)))

    def plainly(x, z):
        moments = [textbook(model, data, j, x) for j in range(2)]
        return jnp.stack([mean + jnp.sqrt(variance) * z[0, j] for j, (mean, variance) in enumerate(moments)])

    plain = jax.jit(jax.jacrev(plainly))
    for x, z in np.random.default_rng(2).normal(size=(4, 2, 3)):
        drawn = jnp.asarray(z[None, :2])
        np.testing.assert_allclose(ours(x, drawn)[0], plain(x, drawn), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["exact", "projected"])
def test_derivatives_agree_with_finite_differences(kind, exact_model, projected_model, held_out):
    built = (exact_model if kind == "exact" else projected_model).posterior.cast("float64")
    z = jnp.asarray(np.random.default_rng(3).normal(size=(6, 2)))

    @jax.jit
    def standardised(x):
        return sample(built, x, z) / built.y_scale, sample(built, x, -2 * z) / built.y_scale

    x = jnp.asarray(held_out.x[10:16])
    jacobians = jax.jit(jax.jacrev(standardised))(x)  # (6, J, 6, d): a row's sample depends on that row alone
    for i in range(x.shape[1]):
        unit = max(float(np.exp(built.params["log_lengthscales"][:, i]).min()), 1e-6)
        h = 1e-5 * unit
        up, down = standardised(x.at[:, i].add(h)), standardised(x.at[:, i].add(-h))
        for jacobian, above, below in zip(jacobians, up, down, strict=True):
            rows = np.einsum("mjm->mj", jacobian[..., i]) * unit
            np.testing.assert_allclose(rows, (above - below) / 2e-5, rtol=1e-4, atol=1e-6)
    across = np.asarray(jacobians[0]).copy()
    across[np.arange(6), :, np.arange(6)] = 0
    assert not np.any(across)


def precision_errors(model: Model, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest errors of float32: relative for the standard deviation, in standardised units for the mean."""
    mean, variance = model.predict(x)
    mean_32, variance_32 = predicted(model.posterior, x, "float32")
    assert mean_32.dtype == variance_32.dtype == np.float32
    std_error = np.abs(np.sqrt(variance_32 / variance) - 1)
    mean_error = np.abs(mean_32 - mean) / np.asarray(model.posterior.y_scale)
    return std_error.max(0), mean_error.max(0)


@pytest.mark.parametrize(("inducing", "most"), [(128, 0.1), (200, 0.12)])
def test_single_precision_is_good_enough_on_realistic_data(inducing, most, exact_model, cartpole_data, held_out):
    model, _ = conditioned(exact_model.hyperparameters, cartpole_data, inducing)
    std_error, mean_error = precision_errors(model, np.r_[cartpole_data.x, held_out.x])
    assert np.all(std_error < most), std_error
    assert np.all(mean_error < 0.1 * np.exp(model.hyperparameters.log_noise)), mean_error


def test_single_precision_is_good_enough_with_the_default_kernel(default_model, cartpole_data, held_out):
    std_error, mean_error = precision_errors(default_model, np.r_[cartpole_data.x, held_out.x])
    assert np.all(std_error < 0.1), std_error
    assert np.all(mean_error < 0.1 * np.exp(default_model.hyperparameters.log_noise)), mean_error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_from_the_data_the_default_kernels_prior_returns_too(dtype, default_model, cartpole_data):
    spread = np.ptp(cartpole_data.x, axis=0) + 8 * default_model.lengthscales.max(0)
    far = cartpole_data.x.mean(0) + np.array([[1], [-1]]) * spread
    mean, variance = predicted(default_model.posterior, far, dtype)
    for j, y_scale in enumerate(np.asarray(default_model.posterior.y_scale)):
        params = joint(default_model.hyperparameters.kernel, j)
        prior = np.asarray(default_model.kernel.diagonal(params, jnp.asarray(far))) * y_scale**2
        np.testing.assert_allclose(variance[:, j], prior, rtol=0.01)
        np.testing.assert_allclose(mean[:, j] / np.sqrt(prior), 0, atol=0.01)


def test_the_default_kernels_projection_predicts_as_well_as_its_exact_posterior(default_model, cartpole_data, held_out):
    exact, _ = conditioned(default_model.hyperparameters, cartpole_data, 0, default_model.kernel)
    assert np.all(rmse(default_model, held_out) <= 1.02 * rmse(exact, held_out))
    assert np.all(log_density(default_model, held_out).mean(0) >= log_density(exact, held_out).mean(0) - 0.05)


def test_single_precision_is_good_enough_when_the_dynamics_look_linear(dynamics, explore):
    # Explorations without a swing are fitted with a large signal and long lengthscales: the hardest case for float32.
    data = dynamics.training_sets([explore(seed) for seed in range(5)])
    model = fit(data, inducing=128)
    std_error, mean_error = precision_errors(model, data.x)
    assert np.all(np.median(std_error) < 0.2), std_error
    assert np.all(mean_error < 0.2 * np.exp(model.hyperparameters.log_noise)), mean_error


def test_a_signal_far_above_the_noise_needs_double_precision(cartpole_data, exact_model, held_out):
    # Nearly linear dynamics with nothing but positions as inputs are fitted like this: huge signal, long lengthscales.
    theta = exact_model.hyperparameters
    stretched = {name: value + 4 for name, value in theta.kernel.items()}
    model, _ = conditioned(Hyperparameters(stretched, theta.log_noise), cartpole_data, inducing=128)
    assert exact_model.precision("float32") == "float32"
    assert exact_model.precision("float64") == "float64"
    assert model.precision("float32") == "float64"
    np.testing.assert_allclose(model.rounding, np.exp(8) * exact_model.rounding)
    _, exactly = predict_reference(model, cartpole_data, held_out.x)
    for dtype, suffices in (("float32", False), ("float64", True)):
        _, variance = predicted(model.posterior, held_out.x, dtype)
        error = np.abs(variance - exactly) / model.noise**2
        assert np.all((np.median(error, axis=0) < MOST_ROUNDING) == suffices), (dtype, error)


def test_variance_is_never_below_its_floor_and_has_no_gradient_there():
    theta, data = small_problem(noise=1e-6)
    model, _ = conditioned(theta, data, inducing=0)
    prior = scale_of(model) ** 2
    x = jnp.asarray(data.x, "float32")
    built = model.posterior.cast("float32")
    variance = np.asarray(compiled_predict(built, x)[1] / built.y_scale**2)
    floored = np.isclose(variance, FLOOR["float32"] * prior, rtol=1e-4)
    assert np.all(variance >= FLOOR["float32"] * prior * (1 - 1e-5))
    assert floored.any()
    drawn = jax.jit(jax.jacrev(lambda x, z: sample(built, x, z)))
    gradient = drawn(x, jnp.ones((len(x), 2), x.dtype)) - drawn(x, jnp.zeros((len(x), 2), x.dtype))
    gradient = np.einsum("mjmd->mjd", gradient)
    assert np.all(np.isfinite(gradient))
    assert not np.any(gradient[floored])


def test_duplicate_rows_give_the_same_posterior_exact_and_projected():
    theta, once = small_problem(n=30)
    data = TrainingSet(*(np.repeat(column, 4, axis=0) for column in once[:3]))
    exact, _ = conditioned(theta, data, inducing=0)
    projected, added = conditioned(theta, data, inducing=60)  # only 30 rows differ
    assert 0 < added <= 1e-6
    query = np.random.default_rng(1).normal(size=(30, 3))
    for ours, expected in zip(projected.predict(query), exact.predict(query), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-5)
    # Four measurements of the same point are worth one with half the noise.
    halved = theta._replace(log_noise=theta.log_noise - np.log(2))
    fewer, _ = conditioned(halved, once, inducing=0)
    for ours, expected in zip(exact.predict(query), fewer.predict(query), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-9)


def test_diagonal_regularisation_is_reported_and_no_larger_than_needed():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    healthy = rows @ rows.T + np.eye(20)
    lower, added = projection.regularised_cholesky(healthy)
    assert added == 1e-10
    np.testing.assert_allclose(lower @ lower.T, healthy, rtol=1e-8, atol=1e-8)
    singular = rows @ rows.T - 1e-5 * np.eye(20)  # eigenvalues down to -1e-5
    lower, added = projection.regularised_cholesky(singular)
    scale = np.trace(singular) / 20
    assert 1e-5 < added * scale < 1e-3
    np.testing.assert_allclose(lower @ lower.T - added * scale * np.eye(20), singular, atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        projection.regularised_cholesky(np.diag([1.0, -5.0]))


def test_inducing_points_are_distinct_and_the_worst_explained_ones():
    theta, data = small_problem(n=40)
    k = gram(theta, data.x)
    chosen, unexplained = projection.choose_inducing(np.diag(k), k.__getitem__, 12)
    assert len(set(chosen.tolist())) == 12
    for i in range(1, 12):
        before = chosen[:i]
        gain = np.linalg.solve(k[np.ix_(before, before)], k[before])
        residual = np.diag(k) - np.einsum("ij,ij->j", k[before], gain)
        assert residual[chosen[i]] == pytest.approx(residual.max(), rel=1e-6)
        assert unexplained[i - 1] == pytest.approx(residual.sum(), rel=1e-6)
