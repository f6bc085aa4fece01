"""Safe ranges in the optimisation: particles that leave one, or come close, cost more.

With the excess e of a position beyond its range in half ranges (negative inside), the margin m and τ = m / 4,

    x = softplus((e + m) / τ) τ / m,    s = x / (1 + x):

next to nothing well inside, a half at the border, one far outside, and never flat outside. The optimised cost is
Ĵ (1 + w S) with S the mean of s over particles and samples, summed over positions; Ĵ is constant in the second term, so
that a weight w means the same whatever the unit of the cost. w grows while more particles leave than the bound allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.tasks.machine import Position

MARGIN = 0.1
"""How far inside the border of a safe range particles begin to cost more, in half ranges."""
FIRST, GROWTH, MOST = 1.0, 3.0, 1e4
"""The weight of safe ranges at first, by how much it grows after every chunk of gradient steps, and the largest one."""


@dataclass(frozen=True)
class SafeRanges:
    """The safe ranges of some positions; immutable and hashable, a constant of compiled code.

    Example:
        >>> SafeRanges.of([Position("p", "m", safe=(-0.5, 0.5)), Position("alpha", "rad")]).index
        (0,)
    """

    index: tuple[int, ...]
    """Which positions."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    unit: tuple[float, ...]
    """Half of each range; of one that is open on a side the scale of the position."""

    @staticmethod
    def of(positions: Sequence[Position]) -> SafeRanges | None:
        """Those of a machine that are bounded on at least one side; None if there are none."""
        found = [(i, p, p.safe) for i, p in enumerate(positions) if p.safe is not None and np.isfinite(p.safe).any()]
        if not found:
            return None
        half = [(safe[1] - safe[0]) / 2 for _, _, safe in found]
        return SafeRanges(
            index=tuple(i for i, _, _ in found),
            low=tuple(float(safe[0]) for _, _, safe in found),
            high=tuple(float(safe[1]) for _, _, safe in found),
            unit=tuple(float(h if np.isfinite(h) else p.scale) for h, (_, p, _) in zip(half, found, strict=True)),
        )

    def narrowed(self, share: float) -> SafeRanges:
        """The same ranges, on each side narrower by a share of half a range."""
        return replace(
            self,
            low=tuple(low + share * unit for low, unit in zip(self.low, self.unit, strict=True)),
            high=tuple(high - share * unit for high, unit in zip(self.high, self.unit, strict=True)),
        )

    def excess(self, q: Any) -> Any:
        """How far each position is outside its range, in half ranges; negative inside. NumPy or JAX arrays."""
        xp, q = q.__array_namespace__(), q[..., list(self.index)]
        low, high, unit = (xp.asarray(each, dtype=q.dtype) for each in (self.low, self.high, self.unit))
        return xp.maximum(q - high, low - q) / unit

    def closeness(self, q: Float[Array, "samples M d_q"]) -> Float[Array, "M"]:
        """s of every particle: how much it is outside, or close to the borders."""
        x = jax.nn.softplus((self.excess(q) + MARGIN) * (4 / MARGIN)) / 4
        return (x / (1 + x)).sum(-1).mean(0)

    def penalised(self, costs: Float[Array, "M"], q: Float[Array, "samples M d_q"], weight: Any) -> Float[Array, "M"]:
        """The costs of particles with the penalty on leaving."""
        return costs + weight * jnp.abs(jax.lax.stop_gradient(costs.mean())) * self.closeness(q)

    def leaving(self, q: Any) -> float:
        """The fraction of the particles (samples, M, d_q) that leave a range."""
        return float((~(self.excess(np.asarray(q)) <= 0)).any((0, 2)).mean())
