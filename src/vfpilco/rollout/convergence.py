"""When a phase of an optimisation has converged: further steps change less than noise does."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

WINDOW = 0.4
"""Gradient steps whose gain is tested, as a fraction of the steps of the phase: on a plateau the best policy may stay
the same for many steps before a better one is found."""
SMOOTHING = 0.99
"""What is kept from step to step of the running mean and variance of the cost change."""
DRIFT, PATIENCE = 0.08, 200
"""A cost stands still if the ratio of the two stays below this in the first phase, for so many steps."""
CERTAIN = 2.0
"""A gain is significant if it is more than so many times its standard error."""


def stalled(costs: Float[np.ndarray, "steps"], phase: int) -> bool:
    """Whether the cost has hardly drifted beside its noise for `PATIENCE` steps: the rule of MC-PILCO's authors.

    With the running mean m and variance v of the change δ of the cost from step to step, m ← 0.99 m + 0.01 δ and
    v ← 0.99 v + 0.01 (δ - m)², the ratio |m| / √v has to stay below 0.08, halved from phase to phase.

    Args:
        costs: The cost at every gradient step of the phase.
        phase: Which one it is, from 0.
    """
    if len(costs) <= PATIENCE:
        return False
    from scipy.signal import lfilter  # slow to import, and few optimisations stop by this rule

    change = np.diff(np.asarray(costs, dtype=float))
    smooth = [1 - SMOOTHING], [1.0, -SMOOTHING]
    mean = lfilter(*smooth, change)
    variance = lfilter(*smooth, (change - mean) ** 2)
    drift = np.abs(mean[-PATIENCE:]) / np.sqrt(np.maximum(variance[-PATIENCE:], 1e-300))
    return bool(np.all(drift < DRIFT * 0.5**phase))


def converged(costs: Float[np.ndarray, "evaluations M"], apart: int, tolerance: float) -> bool:
    """Whether the steps between the last evaluation and the one that is `apart` from it gained nothing that matters.

    All evaluations are on the same particles, so that the gain Δ_m = c_m(before) - c_m(now) of every particle is known,
    and its mean much better than the costs themselves. It matters if it is significant, mean(Δ) > 2 std(Δ) / √M, and
    not small beside the scatter of single executions, mean(Δ) > tolerance · std(c).

    Args:
        costs: The cost of every particle under the best policy, after every evaluation of the phase.
        apart: How many evaluations ago the gain is counted from.
        tolerance: The gain that matters, relative to the standard deviation of the cost; 0: the phase never converges.
    """
    if not tolerance or len(costs) <= apart:
        return False
    before, now = costs[-1 - apart], costs[-1]
    if not np.all(np.isfinite(before)):
        return False
    gain = before - now
    noise = CERTAIN * gain.std() / np.sqrt(len(gain))
    return bool(gain.mean() <= max(noise, tolerance * now.std()))
