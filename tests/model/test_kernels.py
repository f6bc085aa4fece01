from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from vfpilco.model import gp
from vfpilco.common.errors import UserError
from vfpilco.model.gp import Model
from vfpilco.model.kernels import Form, Linear, Polynomial, Polynomial2, Polynomial3, Product, SquaredExponential, Sum
from vfpilco.state.base import TrainingSet

KINDS = ("position", "circle", "circle", "rate", "rate", "input")
FORMS = (
    "se",
    "linear",
    "poly1",
    "poly2(rates)",
    "poly3(inputs)",
    "se * poly1(rates, inputs)",
    "se(positions) * poly2(rates) + linear(inputs)",
    "se(angles)*se(rates)*linear(inputs) + se + poly1",
)


def some(expression: str, seed: int = 0):
    """A kernel of that form with random hyperparameters."""
    rng = np.random.default_rng(seed)
    start = Form(expression, KINDS).start(np.ones(6)).centre
    return jax.tree.map(lambda leaf: jnp.asarray(leaf + 0.5 * rng.normal(size=leaf.shape)), start)


def inputs(n: int, seed: int = 1) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, 6)))


@pytest.mark.parametrize("expression", FORMS)
def test_slopes_and_diagonals_are_those_of_the_covariance(expression):
    kernel, x, z = some(expression), inputs(4), inputs(7, seed=2)
    k = kernel.cross(x, z)
    np.testing.assert_allclose(kernel.diagonal(x), jnp.diagonal(kernel.cross(x, x)), rtol=1e-10)
    of_diagonal = jax.vmap(jax.grad(lambda row: kernel.cross(row[None], row[None])[0, 0]))(x)
    np.testing.assert_allclose(kernel.diagonal_slope(x), of_diagonal, atol=1e-10)
    for c in (np.linspace(-1, 1, 7), np.random.default_rng(3).normal(size=(4, 7))):
        weights = jnp.broadcast_to(c, k.shape)
        expected = jax.vmap(jax.grad(lambda row, w: kernel.cross(row[None], z)[0] @ w))(x, weights)
        np.testing.assert_allclose(kernel.slope(x, z, jnp.asarray(c)), expected, atol=1e-10)


@pytest.mark.parametrize("expression", FORMS)
def test_every_form_is_a_covariance_and_rescales_with_the_targets(expression):
    kernel, x = some(expression), inputs(12)
    k = np.asarray(kernel.cross(x, x))
    np.testing.assert_allclose(k, k.T, atol=1e-12)
    assert np.linalg.eigvalsh(k).min() > -1e-9 * np.trace(k)
    np.testing.assert_allclose(kernel.rescale(np.log(3.0)).cross(x, x), 9 * k, rtol=1e-10)


def test_a_form_computes_what_scikit_learn_computes():
    x = np.random.default_rng(0).normal(size=(8, 6))
    form = Form("se * poly1(rates, inputs) + linear(rates)", KINDS)
    spread = np.array([1.0, 0.5, 0.5, 2.0, 3.0, 4.0])
    ours = form.start(spread).centre.cross(jnp.asarray(x), jnp.asarray(x))
    moving, rates = x[:, 3:] / (3 * spread[3:]), x[:, 3:5] / (3 * spread[3:5])
    se = ConstantKernel(0.5) * RBF(3 * spread)
    expected = se(x) * DotProduct(sigma_0=1.0)(moving) + 0.5 * DotProduct(sigma_0=0.0)(rates)
    np.testing.assert_allclose(ours, expected, rtol=1e-10)


def test_a_linear_kernel_is_in_units_of_sizes_all_others_of_spreads():
    spread, size = np.full(6, 0.01), np.full(6, 1.0)
    kernel = Form("se * poly1(rates) + linear", KINDS).start(spread, size).centre
    product, linear = kernel.terms
    np.testing.assert_allclose(np.exp(linear.log_scales), 3 * size)
    np.testing.assert_allclose(np.exp(product.factors[0].log_lengthscales), 3 * spread)
    np.testing.assert_allclose(np.exp(product.factors[1].log_scales[3:5]), 3 * spread[3:5])


def test_forms_are_read_as_sums_of_products():
    kernel = Form("se*poly2(rates) + linear(inputs) + poly3 + poly1", KINDS).start(np.ones(6)).centre
    assert isinstance(kernel, Sum)
    product, *others = kernel.terms
    assert isinstance(product, Product)
    assert [type(part) for part in (*product.factors, *others)] == [
        SquaredExponential,
        Polynomial2,
        Linear,
        Polynomial3,
        Polynomial,
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "cannot be read"),
        ("se + ", "cannot be read"),
        ("se(", "cannot be read"),
        ("se()", "no selection of GP inputs called ''"),
        ("sse", "did you mean 'se'"),
        ("se(x)", "choose one of angles, features, inputs, positions, rates"),
        ("__import__(rates)", "no kernel called"),
    ],
)
def test_what_is_no_form_is_refused_in_a_sentence(expression, message):
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        Form(expression, KINDS).start(np.ones(6))


def test_a_selection_of_nothing_is_refused():
    with pytest.raises(UserError, match="selects rates, of which the GP inputs have none"):
        Form("se + linear(rates)", ("position", "input")).start(np.ones(2))


def test_a_fit_changes_only_what_takes_part_and_the_model_can_be_written_down():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 6))
    y = np.sin(x[:, :1]) + 3 * x[:, 3:4] * x[:, 1:2] + 2 * x[:, 5:6] + 0.05 * rng.normal(size=(60, 1))
    form = Form("se(positions) * poly1(rates, inputs)", KINDS)
    model = gp.fit(TrainingSet(x, y, 0 * y), rows=60, inducing=None, form=form)
    se, poly = model.hyperparameters.kernel.factors
    assert np.all(np.isinf(se.log_lengthscales[0, 3:]))
    assert np.all(np.isfinite(se.log_lengthscales[0, :3]))
    assert np.all(np.isinf(poly.log_scales[0, :3]))
    assert np.all(np.isfinite(poly.log_scales[0, 3:]))
    assert poly.log_scale[0] == 0
    np.testing.assert_array_equal(model.lengthscales, np.exp(se.log_lengthscales))
    # It has found that the movement's influence is linear: as good far beyond the data as within.
    beyond = rng.normal(size=(40, 6)) * [1, 1, 1, 5, 5, 5]
    truth = np.sin(beyond[:, 0]) + 3 * beyond[:, 3] * beyond[:, 1] + 2 * beyond[:, 5]
    inside = np.all(np.abs(beyond[:, :3]) < 1, axis=1)
    assert np.std((model.predict(beyond)[0][:, 0] - truth)[inside]) < 0.1 * np.std(truth[inside])
    again = Model.from_arrays(model.arrays(), model.about())
    for ours, expected in zip(again.predict(beyond), model.predict(beyond), strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert again.form == form


def test_movement_and_inputs_are_extrapolated_better_with_the_default_kernel(history, explore):
    # Four quiet explorations, then one with larger inputs than any before it.
    kinds = tuple(history.input_kinds())
    sets = [history.training_set(explore(seed)) for seed in range(5)]
    strongest = int(np.argmax([np.abs(data.x[:, -2:]).max() + np.abs(data.x[:, 3:7]).sum() for data in sets]))
    held_out = sets.pop(strongest)
    data = sets[0]
    densities = []
    for expression in ("se", "se * poly1(rates, inputs)"):
        model = gp.fit(data, rows=len(data.x), inducing=None, form=Form(expression, kinds))
        mean, variance = model.predict(held_out.x)
        variance = variance + model.noise**2
        error = held_out.y - held_out.prior - mean
        densities.append(np.mean(-0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)))
    assert densities[1] > densities[0]
