"""A small neural network as the policy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.checks import check_integer
from vfpilco.policy.base import BoundPolicy, Params
from vfpilco.policy.layers import Chains, Dense

MOST = 10_000
"""The most units of a layer."""


@dataclass(frozen=True)
class MLP(BoundPolicy):
    """π(x*) = u_max tanh( W₃ tanh( W₂ tanh( W₁ x* + b₁ ) + b₂ ) + b₃ ), x* in units of `inputs.scale`.

    Example:
        >>> MLP(32)
        MLP(units=32)
    """

    units: int = 64
    """Units of each of the two hidden layers."""

    def __post_init__(self) -> None:
        check_integer("units", self.units, 1, MOST)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = self._sizes
        weights = {f"weight_{i}": pair for i, pair in enumerate(itertools.pairwise(sizes), start=1)}
        return weights | {f"bias_{i}": (size,) for i, size in enumerate(sizes[1:], start=1)}

    @property
    def _sizes(self) -> list[int]:
        return [len(self.inputs.scale), self.units, self.units, len(self.inputs.limits)]

    def init(self, key: Array) -> Params:
        """Weights Gaussian with variance 1/fan-in, biases of the first layer spread, the last layer small."""
        sizes = self._sizes
        params: Params = {}
        for i, (n_in, n_out, gain) in enumerate(zip(sizes, sizes[1:], (1.0, 1.0, 0.5), strict=False), start=1):
            key, k_weight, k_bias = jax.random.split(key, 3)
            params[f"weight_{i}"] = np.asarray(jax.random.normal(k_weight, (n_in, n_out))) * gain / np.sqrt(n_in)
            params[f"bias_{i}"] = np.asarray(jax.random.normal(k_bias, (n_out,))) * (0.5 if i < 3 else 0.0)
        return params

    def __call__(self, params: Params, x: Float[Any, "*M d_x"], keep: Any = None) -> Float[Any, "*M d_u"]:
        xp = x.__array_namespace__()
        hidden = x / xp.asarray(self.inputs.scale, dtype=x.dtype)
        hidden = xp.tanh(hidden @ params["weight_1"] + params["bias_1"])
        hidden = xp.tanh(hidden @ params["weight_2"] + params["bias_2"])
        hidden = hidden if keep is None else hidden * keep
        limits = xp.asarray(self.inputs.limits, dtype=x.dtype)
        return limits * xp.tanh(hidden @ params["weight_3"] + params["bias_3"])

    def dropout(self, key: Array, particles: int, rate: Any, dtype: Any) -> Array:
        kept = jax.random.uniform(key, (particles, self.units), dtype) >= rate
        return jnp.where(kept, 1 / (1 - rate), 0).astype(dtype)

    def layers(self, params: Params) -> Chains:
        limits = np.asarray(self.inputs.limits)
        first = Dense(params["weight_1"] / np.asarray(self.inputs.scale)[:, None], params["bias_1"], squash=True)
        second = Dense(params["weight_2"], params["bias_2"], squash=True)
        return [[first, second, Dense(params["weight_3"] * limits, params["bias_3"] * limits)]]
