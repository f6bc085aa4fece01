"""When a phase of an optimisation has converged: further steps change less than noise does."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

WINDOW = 50
"""Gradient steps whose gain is tested."""
CERTAIN = 2.0
"""A gain is significant if it is more than so many times its standard error."""


def converged(costs: Float[np.ndarray, "evaluations M"], steps: int, tolerance: float) -> bool:
    """Whether the last `WINDOW` steps gained nothing that matters.

    All evaluations are on the same particles, so that the gain Δ_m = c_m(before) - c_m(now) of every particle is known,
    and its mean much better than the costs themselves. It matters if it is significant, mean(Δ) > 2 std(Δ) / √M, and
    not small beside the scatter of single executions, mean(Δ) > tolerance · std(c).

    Args:
        costs: The cost of every particle under the best policy, after every evaluation of the phase.
        steps: Gradient steps between two evaluations.
        tolerance: The gain that matters, relative to the standard deviation of the cost; 0: the phase never converges.
    """
    apart = -(-WINDOW // steps)
    if not tolerance or len(costs) <= apart:
        return False
    before, now = costs[-1 - apart], costs[-1]
    if not np.all(np.isfinite(before)):
        return False
    gain = before - now
    noise = CERTAIN * gain.std() / np.sqrt(len(gain))
    return bool(gain.mean() <= max(noise, tolerance * now.std()))
