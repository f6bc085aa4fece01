"""Elementary kernels: squared exponential, polynomial, linear, dry friction."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.checks import check_integer, check_number
from vfpilco.common.documentation import EXPLAINED
from vfpilco.model.kernels.base import (
    HYPERPRIOR_STD,
    Cross,
    GPInputs,
    Gradient,
    Hyperprior,
    Kernel,
    Params,
    Points,
    Rows,
    check_selection,
)

SLOW = 1 / 30
"""Where the fit of a friction starts: a joint this slow, relative to how fast it usually moves, has a direction."""


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """A kernel with one scale per entry of x̃ and a signal; an entry that takes no part has an infinite scale.

    Example:
        >>> SE().hyperprior(GPInputs((), np.ones(3), np.ones(3))).centre["log_scale"]
        array(0.)
    """

    on: tuple[str, ...] = ()
    """The entries it acts on: positions, angles, rates, inputs, features; all but features if empty."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", (self.on,) if isinstance(self.on, str) else tuple(self.on))
        check_selection(self.on)

    def unit(self, inputs: GPInputs) -> np.ndarray:
        """The unit of every entry: scales start at three times that."""
        return inputs.spread

    def hyperprior(self, inputs: GPInputs, log_scale: float = 0.0, free_scale: bool = True) -> Hyperprior:
        """Scales of three times the spread of the data."""
        chosen = inputs.selected(self.on)
        log_scales = np.where(chosen, np.log(3 * self.unit(inputs)), np.inf)
        centre = {"log_lengthscales": log_scales, "log_scale": np.array(log_scale)}
        width = {"log_lengthscales": HYPERPRIOR_STD * chosen, "log_scale": np.array(HYPERPRIOR_STD * free_scale)}
        return Hyperprior(centre, width)


@dataclass(frozen=True)
class SE(ScaledKernel):
    """k(x, z) = λ² exp(-½ Σ_d (x_d - z_d)² / ℓ_d²), one lengthscale per input entry (Eq. 2): squared exponential.

    Example:
        >>> SE() * Poly(1, on=("rates", "inputs"))
        SE() * Poly(1, on=('rates', 'inputs'))
    """

    signal: float | None = field(default=None, kw_only=True, repr=False, metadata=EXPLAINED)
    """λ in the unit of what the GPs predict, such as m/s per sample, if it is not to be fitted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.signal is not None:
            check_number("signal", self.signal, 1e-9, 1e9, "it is a standard deviation in the unit of the targets")

    def __repr__(self) -> str:
        fixed = [] if self.signal is None else [f"signal={self.signal}"]
        return f"SE({', '.join([*filter(None, [_on(self.on)]), *fixed])})"

    def hyperprior(self, inputs: GPInputs, log_scale: float = 0.0, free_scale: bool = True) -> Hyperprior:
        """As of every kernel with scales; a signal that is given stays as it is."""
        if self.signal is None:
            return super().hyperprior(inputs, log_scale, free_scale)
        return super().hyperprior(inputs, float(np.log(self.signal / inputs.target)), False)

    def lengthscales(self, params: Params) -> np.ndarray:
        return np.exp(params["log_lengthscales"])

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        """k(x, z) for every pair; the square is expanded so that the work is one matrix product."""
        inverse = jnp.exp(-params["log_lengthscales"])
        x, z = x * inverse, z * inverse
        exponent = x @ z.T - 0.5 * (x * x).sum(-1, keepdims=True) + (2 * params["log_scale"] - 0.5 * (z * z).sum(-1))
        return jnp.exp(exponent)

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        """The gradient is Σ_n c_n k(x, z_n) (z_n - x) / ℓ²."""
        k = self.cross(params, x, z)

        def gradient(c: Cross) -> Rows:
            points = jnp.concatenate([jnp.ones((len(z), 1), z.dtype), z], axis=1)
            sums = (k * c) @ points
            return (sums[:, 1:] - sums[:, :1] * x) * jnp.exp(-2 * params["log_lengthscales"])

        return k, gradient

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        return jnp.full(x.shape[0], jnp.exp(2 * params["log_scale"]), x.dtype)

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        return jnp.zeros_like(x)


@dataclass(frozen=True)
class Poly(ScaledKernel):
    """k(x, z) = λ² (1 + Σ_d x_d z_d / s_d²)^degree.

    Example:
        >>> Poly(2, on=("rates",)).degree
        2
    """

    degree: int = 1
    """The power."""
    on: tuple[str, ...] = field(default=(), kw_only=True)
    """The entries it acts on, as for all kernels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("degree", self.degree, 1)

    def __repr__(self) -> str:
        return f"Poly({self.degree}{', ' if self.on else ''}{_on(self.on)})"

    @property
    def offset(self) -> float:
        """What is added before the power is taken."""
        return 1.0

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        return self.cross_and_gradient(params, x, z)[0]

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        """The gradient is Σ_n c_n n λ² (1 + Σ_d x_d z_d / s_d²)^(n-1) z_n / s²."""
        z_s, signal = z * jnp.exp(-2 * params["log_lengthscales"]), jnp.exp(2 * params["log_scale"])
        base = self.offset + x @ z_s.T

        def gradient(c: Cross) -> Rows:
            return (c * base ** (self.degree - 1)) @ (self.degree * signal * z_s)

        return signal * base**self.degree, gradient

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        base = self.offset + (x * x * jnp.exp(-2 * params["log_lengthscales"])).sum(-1)
        return jnp.exp(2 * params["log_scale"]) * base**self.degree

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        x_s = x * jnp.exp(-2 * params["log_lengthscales"])
        base = self.offset + (x * x_s).sum(-1, keepdims=True)
        return 2 * self.degree * jnp.exp(2 * params["log_scale"]) * base ** (self.degree - 1) * x_s


@dataclass(frozen=True)
class Linear(Poly):
    """k(x, z) = λ² Σ_d x_d z_d / s_d².

    Example:
        >>> Linear(on=("angles", "inputs")).on
        ('angles', 'inputs')
    """

    degree: int = field(default=1, init=False, repr=False)

    def __repr__(self) -> str:
        return f"Linear({_on(self.on)})"

    @property
    def offset(self) -> float:
        """Nothing: a linear kernel is zero at zero."""
        return 0.0

    def unit(self, inputs: GPInputs) -> np.ndarray:
        """The root mean square: a cosine near 1 has a small spread, in units of which slopes would be huge."""
        return inputs.size


@dataclass(frozen=True)
class Friction(ScaledKernel):
    """k(x, z) = λ² Σ_d tanh(x_d / s_d) tanh(z_d / s_d): an effect that depends on the direction, such as dry friction.

    On the rates of the machine: it takes the same step whether a joint turns slowly or fast, with a sign that changes
    within s_d.

    Example:
        >>> Friction(on=("rates",)).on
        ('rates',)
    """

    def __repr__(self) -> str:
        return f"Friction({_on(self.on)})"

    def unit(self, inputs: GPInputs) -> np.ndarray:
        """A small part of the root mean square: the sign changes within a fraction of the fastest motion."""
        return SLOW * inputs.size

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        return self.cross_and_gradient(params, x, z)[0]

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        """The gradient is Σ_n c_n λ² (1 - tanh²(x / s)) tanh(z_n / s) / s."""
        inverse, signal = jnp.exp(-params["log_lengthscales"]), jnp.exp(2 * params["log_scale"])
        x_s, z_s = jnp.tanh(x * inverse), signal * jnp.tanh(z * inverse)
        return x_s @ z_s.T, lambda c: (c @ z_s) * ((1 - x_s * x_s) * inverse)

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        x_s = jnp.tanh(x * jnp.exp(-params["log_lengthscales"]))
        return jnp.exp(2 * params["log_scale"]) * (x_s * x_s).sum(-1)

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        inverse = jnp.exp(-params["log_lengthscales"])
        x_s = jnp.tanh(x * inverse)
        return 2 * jnp.exp(2 * params["log_scale"]) * x_s * (1 - x_s * x_s) * inverse


def _on(on: tuple[str, ...]) -> str:
    return f"on={on!r}" if on else ""
