"""Maximising the evidence of hyperparameters, or a bound of it, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
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
    flat, unflatten = _flattening(hyperprior.centre)
    centre, free = flat(hyperprior.centre), flat(hyperprior.width) > 0
    begin = centre if start is None else flat(start)

    def complete(chosen: np.ndarray) -> Hyperparameters:
        all_of_them = begin.copy()
        all_of_them[free] = chosen
        return unflatten(all_of_them)

    def evaluate(chosen: np.ndarray) -> tuple[float, np.ndarray]:
        interrupts.check()
        value, gradient = loss(complete(chosen))
        if not np.isfinite(value):
            return 1e10, np.zeros_like(chosen)
        return float(value), flat(gradient)[free]

    low, high = centre - FARTHEST, centre + FARTHEST
    if least_noise > 0:  # the last of the flat hyperparameters
        low[-1] = np.clip(np.log(least_noise), low[-1], high[-1])
    bounds = list(zip(low[free], high[free], strict=True))
    begin = np.clip(begin, low, high)
    options = {"maxiter": steps} | ({} if tolerance is None else {"ftol": tolerance})
    found = minimize(evaluate, begin[free], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return FitResult(complete(found.x), -float(found.fun))


def _flattening(like: Any) -> tuple[Callable[[Any], np.ndarray], Callable[[np.ndarray], Any]]:
    """Functions that make one NumPy array of a tree of arrays, and such a tree of one array."""
    leaves, structure = jax.tree.flatten(like)
    shapes, ends = [np.shape(leaf) for leaf in leaves], np.cumsum([np.size(leaf) for leaf in leaves])

    def flat(tree: Any) -> np.ndarray:
        return np.concatenate([np.ravel(np.asarray(leaf, float)) for leaf in jax.tree.leaves(tree)])

    def unflatten(array: np.ndarray) -> Any:
        parts = np.split(array, ends[:-1])
        return jax.tree.unflatten(structure, [part.reshape(s) for part, s in zip(parts, shapes, strict=True)])

    return flat, unflatten
