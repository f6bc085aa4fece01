"""Learning the dynamics: one GP per joint, hyperparameters by marginal likelihood, in float64."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from vfpilco import posterior as posteriors
from vfpilco.history import TrainingSet
from vfpilco.kernels import PAPER, Form, Guarded, SquaredExponential
from vfpilco.posterior import Posterior, joint


class Hyperparameters(NamedTuple):
    """Kernel and noise of one GP, on targets in units of their spread."""

    kernel: Any
    log_noise: Float[Array, "*J"]


MOST_ROUNDING = 0.1
"""The most that rounding may add to a predicted variance, as a share of the noise's."""


@dataclass(frozen=True)
class Model:
    """The learned dynamics: hyperparameters of all joints (stacked), their posterior, and remarks made on the way."""

    hyperparameters: Hyperparameters
    posterior: Posterior
    points: int
    """Training points, N."""
    score: tuple[float, ...]
    """How well each joint's data are explained: its log marginal likelihood with the guard, up to a constant."""
    remarks: tuple[str, ...] = ()
    form: Form = PAPER
    """What the kernels look like."""

    @property
    def noise(self) -> np.ndarray:
        """The noise found on each Δq, in its unit."""
        return np.exp(self.hyperparameters.log_noise) * np.asarray(self.posterior.y_scale)

    @property
    def lengthscales(self) -> np.ndarray:
        """The lengthscales of each joint's GP, in the units of x̃: of its first squared exponential, if it has one."""
        kernels = jax.tree.leaves(self.hyperparameters.kernel, is_leaf=lambda k: isinstance(k, SquaredExponential))
        of = [np.exp(kernel.log_lengthscales) for kernel in kernels if isinstance(kernel, SquaredExponential)]
        return of[0] if of else np.full((self.posterior.joints, self.posterior.z.shape[2]), np.inf)

    @property
    def rounding(self) -> np.ndarray:
        """The least variance that float32 can tell from none, as a share of the noise's, of each joint."""
        kernels = [joint(self.posterior.kernel, j) for j in range(self.posterior.joints)]
        priors = [np.max(kernel.diagonal(jnp.asarray(z))) for kernel, z in zip(kernels, self.posterior.z, strict=True)]
        return posteriors.FLOOR["float32"] * np.array(priors) / np.exp(2 * np.asarray(self.hyperparameters.log_noise))

    def precision(self, wished: str) -> str:
        """`wished`, or float64 where float32 would not do: a signal that is far above the noise."""
        return "float64" if max(self.rounding) > MOST_ROUNDING else wished

    @property
    def exact(self) -> bool:
        """Whether the posterior keeps every point and direction, or is projected on inducing points."""
        return self.posterior.w.shape[1] == self.posterior.w.shape[2]

    def predict(self, x: Float[np.ndarray, "N d_x"]) -> tuple[np.ndarray, np.ndarray]:
        """Latent mean and variance of Δq less its prior mean, in float64."""
        mean, variance = _predict(self.posterior, x)
        return np.asarray(mean), np.asarray(variance)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that makes up the model, by name."""
        named = {name: getattr(self.posterior, name) for name in ("z", "a", "w", "y_scale")}
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.hyperparameters)
        named |= {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}
        return {name: np.asarray(array) for name, array in named.items()}

    def about(self) -> dict[str, Any]:
        """What is to be known about the arrays."""
        form = {"expression": self.form.expression, "kinds": list(self.form.kinds)}
        return {"points": self.points, "score": list(self.score), "remarks": list(self.remarks), "kernel": form}

    @staticmethod
    def from_arrays(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model:
        """The model that gave `arrays` and `about`."""
        form = Form(about["kernel"]["expression"], tuple(about["kernel"]["kinds"]))
        like = guarded(np.ones((1, arrays["z"].shape[2])), form).centre
        paths, structure = jax.tree_util.tree_flatten_with_path(like)
        theta = structure.unflatten([arrays[jax.tree_util.keystr(path).lstrip(".")] for path, _ in paths])
        posterior = Posterior(theta.kernel, *(arrays[name] for name in ("z", "a", "w", "y_scale")))  # pyright: ignore
        return Model(theta, posterior, about["points"], tuple(about["score"]), tuple(about["remarks"]), form)


WHITE = 0.02
"""Share of correlated noise that every target has of its own: no model is right to the last digit."""


def noise_shapes(data: TrainingSet) -> list[Float[np.ndarray, "N N"] | None]:
    """C of every joint, the covariance of correlated noise of unit variance (on average); None for white noise.

    A target of the velocity-free model is a difference of measured positions, and its neighbours have measurements in
    common with it: C ∝ B Bᵀ, with B how errors add up. Noise that is taken for each target's own, where it really goes
    up and down with the measured movement in x̃, would be learned as dynamics.
    """
    if data.mixing is None:
        return [None] * data.y.shape[1]
    own, shapes = np.eye(len(data.x)), []
    for mixing in data.mixing:
        together = mixing @ mixing.T
        size = np.trace(together) / len(own)
        shapes.append((1 - WHITE) * together / size + WHITE * own if size else own)
    return shapes if len(shapes) > 1 else shapes * data.y.shape[1]


def log_marginal_likelihood(
    theta: Hyperparameters,
    x: Float[Array, "N d_x"],
    y: Float[Array, "N"],
    real: Float[Array, "N"],
    shape: Float[Array, "N N"] | None = None,
) -> Float[Array, ""]:
    """log p(y | X, θ) with noise σ² C, C being `shape` or the identity; rows with `real` = 0 are padding."""
    return -_misfit(y, *_factorise(theta, x, y, real, shape)) - 0.5 * real.sum() * jnp.log(2 * jnp.pi)


def _misfit(y: Array, factor: Array, alpha: Array) -> Array:
    """½ yᵀ K⁻¹ y + ½ log |K|."""
    return 0.5 * y @ alpha + jnp.log(jnp.diagonal(factor)).sum()


def _factorise(
    theta: Hyperparameters, x: Array, y: Array, real: Array, shape: Array | None = None
) -> tuple[Array, Array]:
    """The Cholesky factor of the covariance K, and α = K⁻¹ y."""
    factor = jnp.linalg.cholesky(_covariance(theta, x, real, shape))
    return factor, jax.scipy.linalg.cho_solve((factor, True), y)


def _covariance(theta: Hyperparameters, x: Array, real: Array, shape: Array | None) -> Array:
    signal = theta.kernel.cross(x, x) * real[:, None] * real
    variance = jnp.exp(2 * theta.log_noise)
    if shape is None:
        return signal + jnp.diag(variance * real + (1 - real))
    return signal + variance * shape + jnp.diag(1 - real)


@jax.jit
def _loss_and_gradient(
    theta: Hyperparameters, guard: Guarded, x: Array, y: Array, real: Array, shape: Array | None = None
):
    """Misfit with the guard, and its gradient ½ Σ (K⁻¹ - ααᵀ) ∘ ∂K, which needs no derivative of Cholesky."""
    factor, alpha = _factorise(theta, x, y, real, shape)
    weight = jax.scipy.linalg.cho_solve((factor, True), jnp.eye(len(y))) - jnp.outer(alpha, alpha)
    gradient = jax.grad(lambda theta: 0.5 * (weight * _covariance(theta, x, real, shape)).sum())(theta)
    penalty, pull = jax.value_and_grad(_penalty)(theta, guard)
    return _misfit(y, factor, alpha) + penalty, jax.tree.map(jnp.add, gradient, pull)


NOISE_GUARD = 3.0
"""Standard deviation of the logarithm of the noise around its starting point."""


def _penalty(theta: Hyperparameters, guard: Guarded) -> Array:
    """A Gaussian on the logarithms around the starting point: the guard against bad optima."""

    def term(t: Array, centre: Array, width: Array) -> Array:
        free = width > 0
        return 0.5 * ((jnp.where(free, t - centre, 0) / jnp.where(free, width, 1)) ** 2).sum()

    return jnp.asarray(sum(jax.tree.leaves(jax.tree.map(term, theta, *guard))))


def guarded(x: np.ndarray, form: Form) -> Guarded:
    """Hyperparameters that suit the spread of the data, with noise a tenth of the signal, and how far they may go."""
    spread = np.maximum(x.std(0), 1e-3 * np.maximum(np.abs(x).max(0), 1e-6))
    centre, width = form.start(spread, np.hypot(spread, x.mean(0)))
    noise = np.array(np.log(0.1)), np.array(NOISE_GUARD)
    return Guarded(Hyperparameters(centre, noise[0]), Hyperparameters(width, noise[1]))  # pyright: ignore


class Optimum(NamedTuple):
    """Hyperparameters at a (local) optimum, and how well they explain the data."""

    hyperparameters: Hyperparameters
    score: float


def climb(
    x: np.ndarray,
    y: np.ndarray,
    start: Hyperparameters | None,
    rows: int,
    form: Form = PAPER,
    steps: int = 200,
    least_noise: float = 0.0,
    shape: np.ndarray | None = None,
) -> Optimum:
    """The optimum of one joint's hyperparameters that L-BFGS reaches from `start` (or the usual one) in `steps`."""
    pad = rows - len(y)
    real = jnp.asarray(np.r_[np.ones(len(y)), np.zeros(pad)])
    x_padded, y_padded = jnp.asarray(np.pad(x, ((0, pad), (0, 0)))), jnp.asarray(np.pad(y, (0, pad)))
    shape_padded = None if shape is None else jnp.asarray(np.pad(shape, (0, pad)))
    guard = jax.tree.map(jnp.asarray, guarded(x, form))
    (centre, unflatten), (width, _) = (jax.flatten_util.ravel_pytree(tree) for tree in guard)
    begin = centre if start is None else jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, start))[0]
    centre, begin, free = np.asarray(centre), np.array(begin), np.asarray(width) > 0

    def whole(chosen: np.ndarray) -> Array:
        flat = begin.copy()
        flat[free] = chosen
        return jnp.asarray(flat)

    def loss(chosen: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _loss_and_gradient(unflatten(whole(chosen)), guard, x_padded, y_padded, real, shape_padded)
        if not np.isfinite(value):
            return 1e10, np.zeros_like(chosen)
        return float(value), np.asarray(jax.flatten_util.ravel_pytree(gradient)[0])[free]

    low, high = centre - 7, centre + 7
    if least_noise > 0:  # the last number of the flat hyperparameters
        low[-1] = np.clip(np.log(least_noise), low[-1], high[-1])
    bounds = list(zip(low[free], high[free], strict=True))
    begin = np.clip(begin, low, high)
    found = minimize(loss, begin[free], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return Optimum(jax.tree.map(np.asarray, unflatten(whole(found.x))), -float(found.fun))


LEAST_PADDING = 500
"""A fit of no more points than this is not worth another compilation."""


def paddings(rows: int) -> list[int]:
    """The sizes that fits are padded to in a run that ends with `rows` points: the last one, a half, a quarter, …"""
    sizes = [rows]
    while sizes[0] > LEAST_PADDING:
        sizes.insert(0, -(-sizes[0] // 2))
    return sizes


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit(
    data: TrainingSet,
    rows: int,
    inducing: int | None,
    previous: Model | None = None,
    form: Form = PAPER,
    least_noise: Sequence[float] | None = None,
) -> Model:
    """Learn the dynamics from the training set: all joints side by side, each from the usual start and the last fit.

    `rows` is the size of the last trial, for which the first fit compiles everything; `inducing` is the number of
    inducing points of the projected posterior, or None for the exact one; `least_noise` is what the targets' noise is
    at least, if that is known. One BLAS thread per joint: the last digits
    depend on their number.
    """
    sizes = paddings(rows)
    shapes = noise_shapes(data)
    if previous is None:
        one = None if shapes[0] is None else np.ones((1, 1))
        for size in sizes[1:]:
            climb(np.zeros((1, data.x.shape[1])), np.zeros(1), None, size, form, steps=1, shape=one)
    padding = next(size for size in sizes if size >= len(data.x))
    target = data.y - data.prior
    y_scale = np.maximum(target.std(0), 1e-9)
    least = np.zeros_like(y_scale) if least_noise is None else np.asarray(least_noise) / y_scale
    standardised = target / y_scale
    climbs = []
    for j in range(len(y_scale)):
        starts: list[Hyperparameters | None] = [None]
        if previous is not None:
            rescale = np.log(np.asarray(previous.posterior.y_scale)[j] / y_scale[j])
            old = joint(previous.hyperparameters, j)
            starts.insert(0, Hyperparameters(old.kernel.rescale(rescale), old.log_noise + rescale))
        climbs += [(j, start) for start in starts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(
            pool.map(
                lambda c: climb(
                    data.x, standardised[:, c[0]], c[1], padding, form, least_noise=least[c[0]], shape=shapes[c[0]]
                ),
                climbs,
            )
        )
    best = [
        max((optimum for (i, _), optimum in zip(climbs, found, strict=True) if i == j), key=lambda o: o.score)
        for j in range(len(y_scale))
    ]
    theta = jax.tree.map(lambda *leaves: np.stack(leaves), *[optimum.hyperparameters for optimum in best])
    posterior, jitter = condition(theta, data.x, standardised, y_scale, rows, inducing, shapes)
    remarks = []
    if jitter > 1e-6:
        remarks.append(f"The covariance was close to singular: {jitter:.0e} of its diagonal was added to factorise it.")
    return Model(theta, posterior, len(data.x), tuple(optimum.score for optimum in best), tuple(remarks), form)


def size(rows: int, inducing: int | None) -> tuple[int, int]:
    """Points and variance directions of the posterior of a run that ends with `rows` training points.

    All of them if `inducing` is None or not fewer. Else that many, and a quarter more beyond eight times as many
    training points; variance is kept in `inducing` / 2 directions.
    """
    if inducing is None or inducing >= rows:
        return rows, rows
    return inducing if rows <= 8 * inducing else inducing + inducing // 4, inducing // 2


def condition(
    theta: Hyperparameters,
    x: np.ndarray,
    y: np.ndarray,
    y_scale: np.ndarray,
    rows: int,
    inducing: int | None,
    shapes: Sequence[np.ndarray | None] | None = None,
) -> tuple[Posterior, float]:
    """The posterior of all joints, padded with zeros to the size it has for `rows` points, and the jitter it took."""
    whiteners = [None if shape is None else cholesky(shape, lower=True) for shape in shapes or [None] * y.shape[1]]
    points, rank = size(rows, inducing)
    padded = _pad(x, max(rows, len(x)))
    parts, jitter = [], 0.0
    for j in range(y.shape[1]):
        kernel, log_noise = joint(theta, j)
        k = np.asarray(_gram(kernel, padded))[: len(x), : len(x)]
        noise = float(np.exp(log_noise))
        if points == rows:
            z, arrays = x, posteriors.exact(k, y[:, j], noise, whiteners[j])
        else:
            chosen = posteriors.choose_inducing(k, min(points, len(x)))
            z = x[chosen]
            arrays = posteriors.projected(k[np.ix_(chosen, chosen)], k[chosen], y[:, j], noise, rank, whiteners[j])
        jitter = max(jitter, arrays.jitter)
        parts.append((_pad(z, points), _pad(arrays.a, points), _pad(_pad(arrays.w, points).T, rank).T))
    z, a, w = (np.stack(part) for part in zip(*parts, strict=True))
    return Posterior(theta.kernel, z, a, w, y_scale), jitter  # pyright: ignore[reportArgumentType]


@threadpool_limits.wrap(limits=1, user_api="blas")
def predict_exactly(
    model: Model, data: TrainingSet, rows: int, x: Float[np.ndarray, "M d_x"]
) -> tuple[np.ndarray, np.ndarray]:
    """What `model.predict` would say with the exact posterior of its training set `data`."""
    y_scale = np.asarray(model.posterior.y_scale)
    n, padded = len(data.x), _pad(data.x, rows)
    shapes = noise_shapes(data)
    means, variances = [], []
    for j, y in enumerate(((data.y - data.prior) / y_scale).T):
        kernel, log_noise = joint(model.hyperparameters, j)
        shape = np.eye(n) if shapes[j] is None else shapes[j]
        k = np.asarray(_gram(kernel, padded))[:n, :n] + np.exp(2 * log_noise) * shape
        lower, _ = posteriors.cholesky_with_jitter(k)
        v = solve_triangular(lower, np.asarray(_cross(kernel, padded, x))[:n], lower=True)
        means.append(solve_triangular(lower, y, lower=True) @ v)
        prior = np.asarray(kernel.diagonal(jnp.asarray(x)))
        variances.append(prior - (v * v).sum(0))
    return np.stack(means, 1) * y_scale, np.stack(variances, 1) * y_scale**2


def _pad(array: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(array, [(0, rows - len(array))] + [(0, 0)] * (array.ndim - 1))


_predict = jax.jit(posteriors.predict)


@jax.jit
def _gram(kernel: Any, x: Array) -> Array:
    return kernel.cross(x, x)


@jax.jit
def _cross(kernel: Any, x: Array, z: Array) -> Array:
    return kernel.cross(x, z)
