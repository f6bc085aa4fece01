"""What a policy is: parameters, and a function of x* that keeps within the input limits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.errors import UserError
from vfpilco.policy.layers import Chains

Params = dict[str, Any]
"""The learned arrays of a policy, by name."""
Bound = TypeVar("Bound", bound="BoundPolicy")


@partial(jax.tree_util.register_dataclass, data_fields=["scale", "limits"], meta_fields=["circle", "turns"])
@dataclass(frozen=True)
class PolicyInputs:
    """What a policy has to know about x* and the machine's inputs; fixed after the exploration.

    Units and limits are numbers, or arrays while a policy is optimised: what is compiled does not depend on them.

    Example:
        >>> PolicyInputs(scale=(1.0, 0.03), limits=(10.0,)).template
        PolicyInputs(scale=(1.0, 1.0), limits=(1.0,), circle=(), turns=())
    """

    scale: Any
    """The unit of every entry of x*."""
    limits: Any
    """u_max of every input."""
    circle: tuple[bool, ...] = ()
    """Which entries are sines and cosines, in pairs."""
    turns: tuple[tuple[float, float], ...] = ()
    """Between which angles every pair of sine and cosine starts out; full turns if not given."""

    def __post_init__(self) -> None:
        for name in ("scale", "limits"):
            given = getattr(self, name)
            if isinstance(given, tuple | list):  # arrays belong to compiled code
                values = np.asarray(given, dtype=float)
                if not values.size or not np.all((values > 1e-30) & (values < 1e30)):  # in float32 too
                    raise UserError(f"The {name} of a policy must be positive numbers from 1e-30 to 1e30, got {given}.")

    def arrays(self, dtype: Any) -> PolicyInputs:
        """Units and limits as arrays; where a policy starts out is left out."""
        return PolicyInputs(jnp.asarray(self.scale, dtype), jnp.asarray(self.limits, dtype), self.circle)

    @property
    def template(self) -> PolicyInputs:
        """The same for any machine with as many of them: units and limits of 1."""
        return PolicyInputs((1.0,) * len(self.scale), (1.0,) * len(self.limits), self.circle)


@runtime_checkable
class Policy(Protocol):
    """A differentiable map from x* to the plant's inputs; subclass `BoundPolicy` and override what differs.

    A policy is a frozen dataclass that holds no learned arrays: these are passed in as `params`.

    Example:
        >>> policy = vfpilco.RBF(5).bind(PolicyInputs(scale=(1.0,), limits=(10.0,)))
        >>> policy(policy.init(jax.random.key(0)), np.zeros(1)).shape
        (1,)
    """

    @property
    def inputs(self) -> PolicyInputs:
        """What it has to know about x* and the machine's inputs; a `UserError` if it is not bound."""
        ...

    def bind(self, inputs: PolicyInputs) -> Policy:
        """The same policy for a machine."""
        ...

    def init(self, key: Array) -> Params:
        """Draw the parameters that the first optimisation starts from."""
        ...

    def __call__(self, params: Params, x: Float[Any, "*M d_x"], keep: Any = None) -> Float[Any, "*M d_u"]:
        """The inputs for x*, NumPy or JAX; `keep` is the dropout mask of each row."""
        ...

    def dropout(self, key: Array, particles: int, rate: Any, dtype: Any) -> Array | None:
        """One dropout mask per particle, for a complete rollout or for a step of it; None if there is no dropout."""
        ...

    def learning_rates(self, params: Params, limits: np.ndarray, errors: np.ndarray | None) -> Params:
        """Learning-rate multipliers of every parameter.

        Args:
            params: The parameters at the start of an optimisation.
            limits: u_max of every input.
            errors: The spread of the last trial's errors from the reference, per position; None without a reference.
        """
        ...

    def layers(self, params: Params) -> Chains:
        """The same map as data, for export, from NumPy arrays in float64; a `UserError` if that is impossible."""
        ...


@dataclass(frozen=True)
class BoundPolicy(Policy):
    """The part that all our policies share: being bound, and defaults for what is optional.

    Example:
        >>> from vfpilco import RBF
        >>> RBF(5).bind(PolicyInputs(scale=(1.0,), limits=(10.0,))).inputs.limits
        (10.0,)
    """

    bound: PolicyInputs | None = field(default=None, kw_only=True, repr=False)
    """What is known about x* and the machine's inputs, after the exploration."""

    @property
    def inputs(self) -> PolicyInputs:
        """What is known about x* and the machine's inputs."""
        if self.bound is None:
            raise UserError(f"{type(self).__name__} does not know its inputs yet: call bind(PolicyInputs(…)).")
        return self.bound

    def bind(self: Bound, inputs: PolicyInputs) -> Bound:
        """The same policy for a machine."""
        return dataclasses.replace(self, bound=inputs)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its parameters, which are checked when a policy is read; empty if they are not known."""
        return {}

    def dropout(self, key: Array, particles: int, rate: Any, dtype: Any) -> Array | None:
        """No dropout."""
        return None

    def learning_rates(self, params: Params, limits: np.ndarray, errors: np.ndarray | None) -> Params:
        """The same for all parameters."""
        return {name: np.ones(np.shape(value)) for name, value in params.items()}

    def layers(self, params: Params) -> Chains:
        """Not available for a policy of another kind."""
        raise UserError(
            f"A policy of class {type(self).__name__} cannot be exported: give the class a method `layers` that "
            "returns it as vfpilco.policy.layers, or use it in Python with LearnedPolicy."
        )


def squash(y: Any, limits: Any) -> Any:
    """u_max tanh(y / u_max)."""
    xp = y.__array_namespace__()
    bounds = xp.asarray(limits, dtype=y.dtype)
    return bounds * xp.tanh(y / bounds)
