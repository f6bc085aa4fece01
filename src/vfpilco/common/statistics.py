"""Statistics of success rates."""

from __future__ import annotations


def interval(k: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a success rate (Wilson)."""
    from scipy.stats import binomtest  # slow to import, and few commands need it

    found = binomtest(k, n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
