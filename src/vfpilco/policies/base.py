"""What a policy is: parameters, and a function of x* that keeps within the input limits."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float

from vfpilco.policies.layers import Chains

Params = dict[str, Any]
"""The learned arrays of a policy, by name."""


@runtime_checkable
class Policy(Protocol):
    """A differentiable map from the policy input x* to the plant's inputs; everything learned is in `params`."""

    def init(self, key: Array) -> Params:
        """Draw the parameters a learner starts from."""
        ...

    def __call__(self, params: Params, x: Float[Any, "*M d_x"], keep: Any = None) -> Float[Any, "*M d_u"]:
        """The inputs for x*, NumPy or JAX; `keep` multiplies the units that dropout may take out."""
        ...

    def dropout(self, key: Array, particles: int, rate: Any, dtype: Any) -> Array:
        """One dropout mask per particle, kept for a whole rollout."""
        ...

    def layers(self, params: Params) -> Chains:
        """The same map spelled out for other programs, from NumPy arrays in float64."""
        ...
