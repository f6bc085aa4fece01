"""The squashed RBF network of the paper, and one that also feeds back linearly."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.checks import check_integer
from vfpilco.policy.base import BoundPolicy, Params, PolicyInputs, squash
from vfpilco.policy.layers import Basis, Chains, Dense

WEIGHT_RATE = 0.1
"""Learning rate of a weight, relative to that of a gain."""
MOST = 100_000
"""The most basis functions."""
WITHIN = 2.0
"""How far from zero centers start, in units of the inputs."""
FASTEST = 10.0
"""The largest multiplier of the learning rate of gains."""


@dataclass(frozen=True)
class RBF(BoundPolicy):
    """π(x*) = u_max tanh( Σ_i w_i exp(-‖a_i - x*‖²_Σ) / u_max )  (Eq. 6), x* in units of `inputs.scale`.

    Example:
        >>> RBF(200)
        RBF(basis_functions=200)
    """

    basis_functions: int = 200
    """How many basis functions it has."""

    def __post_init__(self) -> None:
        check_integer("basis_functions", self.basis_functions, 1, MOST)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        n, d_x, d_u = self.basis_functions, len(self.inputs.scale), len(self.inputs.limits)
        return {"centers": (n, d_x), "log_lengthscales": (d_x,), "weights": (n, d_u)}

    @property
    def within(self) -> float:
        """How far from zero centers start, in units of the inputs."""
        return WITHIN

    def init(self, key: Array) -> Params:
        """Centers uniform over the scaled inputs (angles on the circle), unit lengthscales, weights u_max·U(-½, ½)."""
        k_centers, k_angles, k_weights = jax.random.split(key, 3)
        inputs, n = self.inputs, self.basis_functions
        d = len(inputs.scale)
        centers = np.array(jax.random.uniform(k_centers, (n, d), minval=-self.within, maxval=self.within))
        angles = np.array(jax.random.uniform(k_angles, (n, d), minval=-np.pi, maxval=np.pi))
        on_circle = np.flatnonzero(inputs.circle)
        turns = inputs.turns or ((-np.pi, np.pi),) * (len(on_circle) // 2)
        for i, j, (low, high) in zip(on_circle[::2], on_circle[1::2], turns, strict=True):
            angle = (low + high) / 2 + angles[:, i] * ((high - low) / (2 * np.pi))
            centers[:, i], centers[:, j] = np.sin(angle), np.cos(angle)
        weights = jax.random.uniform(k_weights, (n, len(inputs.limits)), minval=-0.5, maxval=0.5)
        return {
            "centers": centers,
            "log_lengthscales": np.zeros(d),
            "weights": np.asarray(weights) * np.asarray(inputs.limits),
        }

    def __call__(self, params: Params, x: Float[Any, "*M d_x"], keep: Any = None) -> Float[Any, "*M d_u"]:
        return squash(self.unlimited(params, x, keep), self.inputs.limits)

    def unlimited(self, params: Params, x: Float[Any, "*M d_x"], keep: Any) -> Float[Any, "*M d_u"]:
        """The inputs before they are limited."""
        xp = x.__array_namespace__()
        inverse = xp.exp(-params["log_lengthscales"])
        x = x * (xp.asarray(self.inputs.scale, dtype=x.dtype) ** -1 * inverse)
        a = params["centers"] * inverse
        network = weighted_basis if xp is jnp and keep is not None else _weighted_basis
        return network(x, a, params["weights"], keep)

    def dropout(self, key: Array, particles: int, rate: Any, dtype: Any) -> Array:
        kept = jax.random.uniform(key, (particles, self.basis_functions), dtype) >= rate
        return jnp.where(kept, 1 / (1 - rate), 0).astype(dtype)

    def learning_rates(self, params: Params, limits: np.ndarray, errors: np.ndarray | None) -> Params:
        """Fractions of u_max: neighbouring weights act together, so their rates are smaller than those of gains."""
        rates = super().learning_rates(params, limits, errors)
        for name, share in (("weights", WEIGHT_RATE), ("gains", 1.0)):
            if name in rates:
                rates[name] *= share * limits
        return rates

    def layers(self, params: Params) -> Chains:
        inverse = np.exp(-params["log_lengthscales"])
        return [[Basis(inverse / np.asarray(self.inputs.scale), params["centers"] * inverse, params["weights"])]]


@dataclass(frozen=True)
class PhysicalRBF(RBF):
    """An RBF network on x* in physical units (m, m/s, rad/s) whose centers start uniform in ±π: as MC-PILCO begins.

    It suits states with velocities; position differences are some 30 times smaller than the lengthscales of 1.

    Example:
        >>> PhysicalRBF(200)
        PhysicalRBF(basis_functions=200)
    """

    @property
    def within(self) -> float:
        """How far from zero centers start."""
        return float(np.pi)

    def bind(self, inputs: PolicyInputs) -> PhysicalRBF:
        """The same policy for a machine, whose inputs it takes in their own units."""
        return super().bind(dataclasses.replace(inputs, scale=(1.0,) * len(inputs.scale)))


@dataclass(frozen=True)
class LinearRBF(RBF):
    """π(x*) = u_max tanh( (K x* + Σ_i w_i exp(-‖a_i - x*‖²_Σ)) / u_max ): also steers far from all basis functions.

    Example:
        >>> LinearRBF(400)
        LinearRBF(basis_functions=400)
    """

    def init(self, key: Array) -> Params:
        """As an RBF network, but wider with more than eight inputs, so that basis functions overlap; zero gains."""
        params, d = super().init(key), len(self.inputs.scale)
        params["log_lengthscales"] = np.full(d, np.log(max(1.0, d / 8)) / 2)
        return {**params, "gains": np.zeros((d, len(self.inputs.limits)))}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(), "gains": (len(self.inputs.scale), len(self.inputs.limits))}

    def unlimited(self, params: Params, x: Float[Any, "*M d_x"], keep: Any) -> Float[Any, "*M d_u"]:
        scaled = x / x.__array_namespace__().asarray(self.inputs.scale, dtype=x.dtype)
        return super().unlimited(params, x, keep) + scaled @ params["gains"]

    def learning_rates(self, params: Params, limits: np.ndarray, errors: np.ndarray | None) -> Params:
        """As of an RBF network, but higher for gains on the error from a reference.

        They are learned in units of the errors of the exploration. As errors shrink from trial to trial larger gains
        are needed: their rates grow by as much as the last errors were smaller.
        """
        rates = super().learning_rates(params, limits, errors)
        if errors is not None:
            units = np.asarray(self.inputs.scale[-len(errors) :])
            rates["gains"][-len(errors) :] *= np.clip(units / errors, 1.0, FASTEST)[:, None]
        return rates

    def layers(self, params: Params) -> Chains:
        gains = params["gains"] / np.asarray(self.inputs.scale)[:, None]
        return [*super().layers(params), [Dense(gains, np.zeros(len(self.inputs.limits)))]]


def _weighted_basis(x: Any, a: Any, w: Any, keep: Any) -> Any:
    basis = _basis(x, a)
    return (basis if keep is None else basis * keep) @ w


def _basis(x: Any, a: Any) -> Any:
    xp = x.__array_namespace__()
    return xp.exp(2 * x @ a.T - xp.sum(x * x, axis=-1, keepdims=True) - xp.sum(a * a, axis=-1))


@jax.custom_vjp
def weighted_basis(
    x: Float[Array, "M d_x"], a: Float[Array, "n d_x"], w: Float[Array, "n d_u"], keep: Float[Array, "M n"]
) -> Float[Array, "M d_u"]:
    """Σ_i w_i keep_i exp(-‖a_i - x‖²), with a backward pass of two products and no exponential.

    With g = keep ∘ exp(…) from the forward pass and h = g ∘ (c wᵀ) from the cotangent c: one product of h with [1, a]
    gives what belongs to x, one of hᵀ with [1, x] what belongs to the centers, however many inputs there are.
    """
    return _weighted_basis(x, a, w, keep)


def _forward(x: Array, a: Array, w: Array, keep: Array):
    g = _basis(x, a) * keep
    return g @ w, (g, x, a, w)


def _backward(saved, c: Array):
    g, x, a, w = saved
    h = g * (c @ w.T)
    to_x = h @ _with_ones(a)
    to_a = (_with_ones(x).T @ h).T  # fast for few columns
    d_x, d_a = (2 * (sums[:, 1:] - sums[:, :1] * at) for sums, at in ((to_x, x), (to_a, a)))
    return d_x, d_a, (c.T @ g).T, None


def _with_ones(points: Array) -> Array:
    return jnp.concatenate([jnp.ones((len(points), 1), points.dtype), points], axis=1)


weighted_basis.defvjp(_forward, _backward)
