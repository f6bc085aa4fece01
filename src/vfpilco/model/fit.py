"""Fitting GPs: one per joint, hyperparameters by maximising the evidence, in float64."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from vfpilco.model.conditioning import condition
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.evidence import Hyperparameters, initial, loss_and_gradient, noise_covariances
from vfpilco.model.kernels import SE, Kernel
from vfpilco.model.model import Model
from vfpilco.model.posterior import joint


class FitResult(NamedTuple):
    """Hyperparameters at a (local) optimum, and their evidence."""

    hyperparameters: Hyperparameters
    score: float
    """The log evidence with the hyperprior, up to a constant."""


@dataclass(frozen=True)
class Evidence:
    """The data of one GP, ready for maximising the evidence of its hyperparameters."""

    kernel: Kernel
    kinds: tuple[str, ...]
    """The kind of every entry of x̃."""
    x: np.ndarray
    y: np.ndarray
    """Targets of unit variance."""
    rows: int
    """The size that the data are padded to."""
    least_noise: float = 0.0
    """The noise is at least that, in units of the targets."""
    covariance: np.ndarray | None = None
    """Of the noise; None if it is white."""

    def maximise(self, start: Hyperparameters | None = None, steps: int = 200) -> FitResult:
        """Maximise the evidence by L-BFGS, from `start` (or the hyperprior's centre), in at most `steps` steps."""
        pad = self.rows - len(self.y)
        mask = jnp.asarray(np.r_[np.ones(len(self.y)), np.zeros(pad)])
        x, y = jnp.asarray(np.pad(self.x, ((0, pad), (0, 0)))), jnp.asarray(np.pad(self.y, (0, pad)))
        covariance = None if self.covariance is None else jnp.asarray(np.pad(self.covariance, (0, pad)))
        hyperprior = jax.tree.map(jnp.asarray, initial(self.kernel, self.x, self.kinds))
        (centre, unflatten), (width, _) = (jax.flatten_util.ravel_pytree(tree) for tree in hyperprior)
        begin = centre if start is None else jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, start))[0]
        centre, begin, free = np.asarray(centre), np.array(begin), np.asarray(width) > 0

        def complete(chosen: np.ndarray) -> Array:
            flat = begin.copy()
            flat[free] = chosen
            return jnp.asarray(flat)

        def loss(chosen: np.ndarray) -> tuple[float, np.ndarray]:
            theta = unflatten(complete(chosen))
            value, gradient = loss_and_gradient(self.kernel, theta, hyperprior, x, y, mask, covariance)
            if not np.isfinite(value):
                return 1e10, np.zeros_like(chosen)
            return float(value), np.asarray(jax.flatten_util.ravel_pytree(gradient)[0])[free]

        low, high = centre - 7, centre + 7
        if self.least_noise > 0:  # the last of the flat hyperparameters
            low[-1] = np.clip(np.log(self.least_noise), low[-1], high[-1])
        bounds = list(zip(low[free], high[free], strict=True))
        begin = np.clip(begin, low, high)
        found = minimize(loss, begin[free], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
        return FitResult(jax.tree.map(np.asarray, unflatten(complete(found.x))), -float(found.fun))


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
    *,
    kernel: Kernel = SE(),  # noqa: B008 (immutable)
    kinds: tuple[str, ...] = (),
    inducing: int | None = None,
    previous: Model | None = None,
    least_noise: Sequence[float] | None = None,
) -> Model:
    """Learn the dynamics from a training set: all GPs side by side, each from the hyperprior and from the last fit.

    Args:
        data: What is learned from. Its `capacity` is that of the last trial: the first fit compiles for it.
        kernel: The covariance function.
        kinds: The kind of every entry of x̃, which the kernel may select.
        inducing: The number of inducing points of the projected posterior, or None for the exact one.
        previous: The model of the trial before.
        least_noise: The least noise of the targets, if that is known.

    Returns:
        The fitted model. It depends on the number of BLAS threads in the last digits, so there is one per GP.
    """
    sizes, covariances = paddings(data.rows), noise_covariances(data)
    if previous is None:
        _compile(kernel, kinds, data.x.shape[1], sizes[1:], correlated=covariances[0] is not None)
    padding = next(size for size in sizes if size >= len(data.x))
    target = data.y - data.prior
    y_scale = np.maximum(target.std(0), 1e-9)
    least = np.zeros_like(y_scale) if least_noise is None else np.asarray(least_noise) / y_scale
    standardised = target / y_scale
    starts: list[tuple[Evidence, Hyperparameters | None]] = []
    for j in range(len(y_scale)):
        evidence = Evidence(kernel, kinds, data.x, standardised[:, j], padding, least[j], covariances[j])
        if previous is not None:
            starts.append((evidence, _rescaled(previous, j, y_scale[j])))
        starts.append((evidence, None))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda start: start[0].maximise(start[1]), starts))
    each = len(starts) // len(y_scale)
    best = [max(found[each * j : each * (j + 1)], key=lambda result: result.score) for j in range(len(y_scale))]
    theta = jax.tree.map(lambda *leaves: np.stack(leaves), *[result.hyperparameters for result in best])
    posterior, added = condition(kernel, theta, data, y_scale, inducing)
    remarks = []
    if added > 1e-6:
        remarks.append(f"The covariance was close to singular: {added:.0e} of its diagonal was added to factorise it.")
    scores = tuple(result.score for result in best)
    return Model(kernel, kinds, theta, posterior, len(data.x), scores, tuple(remarks))


def _compile(kernel: Kernel, kinds: tuple[str, ...], entries: int, sizes: list[int], *, correlated: bool) -> None:
    """Compile the fits of later trials."""
    one = np.ones((1, 1)) if correlated else None
    for size in sizes:
        Evidence(kernel, kinds, np.zeros((1, entries)), np.zeros(1), size, covariance=one).maximise(steps=1)


def _rescaled(previous: Model, j: int, y_scale: float) -> Hyperparameters:
    """The hyperparameters of the last fit, for targets with another unit."""
    factor = np.log(np.asarray(previous.posterior.y_scale)[j] / y_scale)
    old = joint(previous.hyperparameters, j)
    return Hyperparameters(previous.kernel.rescale(old.kernel, factor), old.log_noise + factor)
