"""The risk of a trial, counted over the particles that predict it.

The particles' true positions are compared with the safe ranges. A trial ends when a measurement is outside, so that
sensor noise adds a little to the risk if it is not small beside the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from vfpilco.data.risk import Extreme, RangeRisk, Risk
from vfpilco.rollout.particles import Rollout
from vfpilco.tasks.machine import Input, Position

ROUNDING = 1e-6
"""What may be added to a quantile, relative to it: inputs at their limit differ in their last digits."""


def risk_of(predicted: Rollout, positions: Sequence[Position], inputs: Sequence[Input], sampling_time: float) -> Risk:
    """The risk of a trial.

    Args:
        predicted: The particles that predict it.
        positions: The positions of the machine, with their safe ranges.
        inputs: Its inputs.
        sampling_time: Seconds between samples.

    Returns:
        Probabilities of leaving safe ranges, and quantiles of the largest positions, speeds and inputs.

    Example:
        >>> q = np.zeros((3, 2, 1))
        >>> q[2, 0] = 0.7
        >>> particles = Rollout(q, np.zeros((2, 2, 1)), np.zeros((3, 2)))
        >>> risk_of(particles, [Position("p", "m", safe=(-0.5, 0.5))], [Input("force", "N", 10.0)], 0.1).words
        'leaving p 50 % (above, at about 0.2 s)'
    """
    q, u = np.asarray(predicted.q), np.asarray(predicted.u)
    bounded = [(i, p, p.safe) for i, p in enumerate(positions) if p.safe is not None]
    ranges = [_range_risk(p.name, q[..., i], safe, sampling_time) for i, p, safe in bounded]
    left = [outside(q[..., i], safe).any(0) for i, _, safe in bounded]
    return Risk(
        particles=q.shape[1],
        leaving=float(np.any(left, axis=0).mean()) if left else 0.0,
        ranges=ranges,
        positions=_extremes(positions, q),
        speeds=_extremes(positions, np.diff(q, axis=0) / sampling_time),
        inputs=_extremes(inputs, u),
    )


def within(risk: Risk, q: np.ndarray, u: np.ndarray, sampling_time: float) -> tuple[float, float]:
    """Which fractions of the largest positions, speeds and inputs of a trial stayed within their predicted quantiles.

    Args:
        risk: What was predicted.
        q: The positions of the trial.
        u: Its inputs.
        sampling_time: Seconds between samples.

    Returns:
        The fractions within the 95 % and the 99.9 % quantiles.
    """
    speeds = np.diff(q, axis=0) / sampling_time
    reached = np.concatenate([np.abs(values).max(0, initial=0.0) for values in (q, speeds, u)])
    predicted = [*risk.positions, *risk.speeds, *risk.inputs]
    most = np.array([[each.most_95, each.most_999] for each in predicted])
    likely, extreme = (reached[:, None] <= (1 + ROUNDING) * most).mean(0)
    return float(likely), float(extreme)


def outside(q: np.ndarray, safe: tuple[float, float]) -> Bool[np.ndarray, "*samples"]:
    """Which values are outside a safe range; one that is no number is."""
    return ~((safe[0] <= q) & (q <= safe[1]))


def left_by(q: Float[np.ndarray, "samples M"], safe: tuple[float, float]) -> Float[np.ndarray, "2 samples"]:
    """The fractions of the particles that have left a safe range by every sample: first below it, and first above."""
    out = outside(q, safe)
    first, ever = out.argmax(0), out.any(0)
    below = q[first, np.arange(q.shape[1])] < safe[0]
    by = (np.arange(len(q))[:, None] >= first) & ever
    return np.stack([(by & below).mean(1), (by & ~below).mean(1)])


def _range_risk(name: str, q: np.ndarray, safe: tuple[float, float], sampling_time: float) -> RangeRisk:
    below, above = left_by(q, safe)
    total, most = float(below[-1] + above[-1]), max(below, above, key=lambda curve: curve[-1])
    if not total:
        return RangeRisk(name, 0.0)
    median = int(np.argmax(most >= most[-1] / 2))
    return RangeRisk(name, total, "below" if most is below else "above", median * sampling_time)


def _extremes(channels: Sequence[Any], values: Float[np.ndarray, "samples M d"]) -> list[Extreme]:
    """Quantiles over the particles of the largest magnitude over time: values that occurred, not between them."""
    quantiles = np.quantile(np.abs(values).max(0), [0.95, 0.999], axis=0, method="higher")
    return [
        Extreme(channel.name, channel.unit, float(likely), float(extreme))
        for channel, likely, extreme in zip(channels, *quantiles, strict=True)
    ]
