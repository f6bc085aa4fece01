"""What the GPs expect before seeing data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from vfpilco.state.base import State


@runtime_checkable
class PriorMean(Protocol):
    """The prior mean of the GPs: an immutable and hashable object, such as a frozen dataclass.

    Example:
        >>> isinstance(ZeroMean(), PriorMean)
        True
    """

    rate_gain: ClassVar[float]
    """Its derivative with respect to the last movement, which says how measurement errors enter it."""

    def mean(self, state: State, x: Any, u: Any) -> Any:
        """The expected change, a column per GP.

        Args:
            state: The state representation; `state.positions(x)` and `state.continued(x)` say what a state means.
            x: States of that representation, NumPy or JAX.
            u: The inputs applied there.
        """
        ...


@dataclass(frozen=True)
class ConstantVelocity(PriorMean):
    """The last movement continues: GPs learn only the deviation from it.

    Example:
        >>> ConstantVelocity().rate_gain
        1.0
    """

    rate_gain: ClassVar[float] = 1.0

    def mean(self, state: State, x: Any, u: Any) -> Any:
        return state.continued(x)


@dataclass(frozen=True)
class ZeroMean(PriorMean):
    """Nothing moves, as in the paper.

    Example:
        >>> ZeroMean().rate_gain
        0.0
    """

    rate_gain: ClassVar[float] = 0.0

    def mean(self, state: State, x: Any, u: Any) -> Any:
        return state.continued(x) * 0
