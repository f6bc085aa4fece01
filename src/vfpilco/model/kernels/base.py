"""What a kernel is: a covariance function whose hyperparameters are passed in, so that they can be fitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.errors import UserError, unknown

Rows = Float[Array, "M d_x"]
Points = Float[Array, "U d_x"]
Cross = Float[Array, "M U"]
Gradient = Callable[[Cross], Rows]
"""∂/∂x Σ_n c_n k(x, z_n) for every row, as a function of the weights c (M, U)."""
Params = Any
"""The hyperparameters of a kernel: arrays in any nesting of tuples and dictionaries."""

SELECTIONS = {
    "positions": ("position", "circle"),
    "angles": ("circle",),
    "rates": ("rate",),
    "inputs": ("input",),
    "features": ("feature",),
}
"""The kinds of GP inputs that a name in `on` selects."""
HYPERPRIOR_STD = 2.0
"""Standard deviation of the logarithm of every hyperparameter around its starting point."""


class GPInputs(NamedTuple):
    """What is known about the entries of the GP input x̃ before hyperparameters are fitted.

    Example:
        >>> inputs = GPInputs(("position", "rate", "input"), np.ones(3), np.ones(3))
        >>> inputs.selected(("rates", "inputs"))
        array([False,  True,  True])
    """

    kinds: tuple[str, ...]
    """The kind of every entry: position, circle, rate, input or feature; empty if they are unknown."""
    spread: np.ndarray
    """The standard deviation of every entry over the data."""
    size: np.ndarray
    """The root mean square of every entry over the data."""
    target: float = 1.0
    """The standard deviation of the targets: the unit of what the GP predicts."""

    def selected(self, on: tuple[str, ...]) -> np.ndarray:
        """A mask of the entries that `on` selects; all but features if it is empty."""
        if not on:
            return np.array([k != "feature" for k in self.kinds]) if self.kinds else np.ones(len(self.spread), bool)
        kinds = {kind for name in on for kind in SELECTIONS[name]}
        chosen = np.array([kind in kinds for kind in self.kinds])
        if not chosen.any():
            raise UserError(f"A kernel is on {', '.join(on)}, of which the GP inputs have none.")
        return chosen


class Hyperprior(NamedTuple):
    """A Gaussian on the logarithms of hyperparameters: where the fit starts, and how far it may go.

    Example:
        >>> Hyperprior({"log_scale": 0.0}, {"log_scale": 2.0}).width
        {'log_scale': 2.0}
    """

    centre: Params
    width: Params
    """Standard deviations; 0 keeps a hyperparameter fixed."""


def check_selection(on: tuple[str, ...]) -> None:
    """Raise a `UserError` if `on` names entries that do not exist."""
    for name in on:
        if name not in SELECTIONS:
            raise unknown("selection of GP inputs", str(name), SELECTIONS)


@runtime_checkable
class Kernel(Protocol):
    """A covariance function k(x, z); subclass it and override what differs.

    Kernels are frozen dataclasses that hold no hyperparameters. A subclass needs `hyperprior` and `cross`; the
    derivatives follow by automatic differentiation unless they are overridden with something faster.
    Kernels are joined by `+` and `*`.

    Example:
        >>> from vfpilco import SE, Linear
        >>> isinstance(SE() + Linear(on=("angles",)), Kernel)
        True
    """

    def hyperprior(self, inputs: GPInputs, log_scale: float = 0.0, free_scale: bool = True) -> Hyperprior:
        """Where the hyperparameters start, and how far they may go.

        Args:
            inputs: What is known about the entries of x̃.
            log_scale: Logarithm of the signal's standard deviation to start from, on targets of unit variance.
            free_scale: Whether the signal is fitted; within a product only that of the first factor is.
        """
        ...

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        """k(x, z) for every pair of rows.

        Args:
            params: Hyperparameters, structured as the centre of `hyperprior`.
            x: GP inputs (M, d_x).
            z: Points (U, d_x).

        Returns:
            The covariances (M, U).
        """
        ...

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        """k(x, z) for every pair of rows, and ∂/∂x Σ_n c_n k(x, z_n) as a function of the weights c (M, U).

        What both need is computed once.
        """
        k, pull = jax.vjp(lambda x: self.cross(params, x, z), x)
        return k, lambda c: pull(c)[0]

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        """k(x, x) for every row."""
        return jax.vmap(lambda row: self.cross(params, row[None], row[None])[0, 0])(x)

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        """∂/∂x k(x, x)."""
        return jax.grad(lambda x: self.diagonal(params, x).sum())(x)

    def rescale(self, params: Params, log_factor: float) -> Params:
        """The hyperparameters for targets that are `exp(log_factor)` times as large."""
        return {**params, "log_scale": params["log_scale"] + log_factor}

    def lengthscales(self, params: Params) -> np.ndarray | None:
        """The lengthscales, in the units of x̃, for reports; None if the kernel has none."""
        return None

    def __add__(self, other: Kernel) -> Kernel:
        from vfpilco.model.kernels.composite import Sum

        return Sum.of(self, other)

    def __mul__(self, other: Kernel) -> Kernel:
        from vfpilco.model.kernels.composite import Product

        return Product.of(self, other)
