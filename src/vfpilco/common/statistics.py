"""Statistics of success rates."""

from __future__ import annotations

from scipy.stats import binomtest


def interval(k: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a success rate (Wilson)."""
    found = binomtest(k, n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
