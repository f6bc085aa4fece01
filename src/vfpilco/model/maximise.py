"""Maximising the evidence of hyperparameters, or a bound of it, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.optimize import minimize

from vfpilco.common import interrupts
from vfpilco.model.evidence import Hyperparameters
from vfpilco.model.kernels import Hyperprior

Loss = Callable[[Hyperparameters], tuple[Any, Hyperparameters]]
"""The negative log evidence with the hyperprior, up to a constant, and its gradient."""
FARTHEST = 7.0
"""How far the logarithm of a hyperparameter may go from the hyperprior's centre."""


class FitResult(NamedTuple):
    """Hyperparameters at a (local) optimum, and their evidence."""

    hyperparameters: Hyperparameters
    score: float
    """The log evidence with the hyperprior, up to a constant."""


def maximise(
    loss: Loss,
    hyperprior: Hyperprior,
    start: Hyperparameters | None = None,
    *,
    least_noise: float = 0.0,
    steps: int = 200,
    tolerance: float | None = None,
) -> FitResult:
    """Minimise a loss by L-BFGS; a request to stop is checked for at every evaluation.

    Args:
        loss: What is minimised.
        hyperprior: Its centre is where the search starts if `start` is None; what has no width is kept.
        start: Where to start.
        least_noise: The noise is at least that, in units of the targets.
        steps: The most steps.
        tolerance: The fraction of the loss by which a step must improve it; SciPy's default if None.
    """
    (centre, unflatten), (width, _) = (jax.flatten_util.ravel_pytree(tree) for tree in hyperprior)
    begin = centre if start is None else jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, start))[0]
    centre, begin, free = np.asarray(centre), np.array(begin), np.asarray(width) > 0

    def complete(chosen: np.ndarray) -> Array:
        flat = begin.copy()
        flat[free] = chosen
        return jnp.asarray(flat)

    def evaluate(chosen: np.ndarray) -> tuple[float, np.ndarray]:
        interrupts.check()
        value, gradient = loss(unflatten(complete(chosen)))
        if not np.isfinite(value):
            return 1e10, np.zeros_like(chosen)
        return float(value), np.asarray(jax.flatten_util.ravel_pytree(gradient)[0])[free]

    low, high = centre - FARTHEST, centre + FARTHEST
    if least_noise > 0:  # the last of the flat hyperparameters
        low[-1] = np.clip(np.log(least_noise), low[-1], high[-1])
    bounds = list(zip(low[free], high[free], strict=True))
    begin = np.clip(begin, low, high)
    options = {"maxiter": steps} | ({} if tolerance is None else {"ftol": tolerance})
    found = minimize(evaluate, begin[free], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return FitResult(jax.tree.map(np.asarray, unflatten(complete(found.x))), -float(found.fun))
