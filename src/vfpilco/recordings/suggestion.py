"""Memories and a sensor for a machine, suggested from its recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfpilco.common.text import count
from vfpilco.recordings.delay import Delay
from vfpilco.recordings.estimates import PositionEstimate
from vfpilco.tasks.sensors import GaussianNoise, Quantised, Sensor

NOISY = (0.5, 1.5)
"""Noise of a difference, relative to the movement in a sample, from which one and two more positions help."""
DOMINATES = 2.0
"""Quantisation is the sensor's main error if the noise is less than this many times that of rounding."""


@dataclass(frozen=True)
class Suggestion:
    """Suggested settings, and why."""

    m_q: int
    m_u: int
    sensor: Sensor | None
    """None if the noise is unknown."""
    reasons: dict[str, str]
    """A sentence for each of m_q, m_u and sensor."""


def suggest(positions: Sequence[PositionEstimate], delay: Delay) -> Suggestion:
    """Memories that fit the delay and the noise, and a sensor with the same errors."""
    m_q, why_m_q = _position_memory(positions)
    m_u, why_m_u = _control_memory(delay)
    sensor, why_sensor = _sensor(positions)
    return Suggestion(m_q, m_u, sensor, {"m_q": why_m_q, "m_u": why_m_u, "sensor": why_sensor})


def _position_memory(positions: Sequence[PositionEstimate]) -> tuple[int, str]:
    shares = {p.name: float(np.sqrt(2) * p.noise / p.movement) for p in positions if p.noise is not None and p.movement}
    if not shares:
        return 2, "The default: the noise is unknown."
    noisiest = max(shares, key=lambda name: shares[name])
    share = shares[noisiest]
    m_q = 2 + sum(share > border for border in NOISY)
    if m_q == 2:
        return 2, f"The default: noise is at most {share:.0%} of the movement in a sample."
    return m_q, f"Noise is {share:.0%} of the movement of {noisiest} in a sample: older positions average it."


def _control_memory(delay: Delay) -> tuple[int, str]:
    if delay.samples is None:
        return 1, f"The default: the delay {delay.sentence}."
    if delay.logged_late:
        return 1, "As for no delay, once the inputs are moved up by one line."
    if delay.samples == 0:
        return 1, "Inputs act at once, and an input held in one interval still has an effect in the next."
    return 1 + delay.samples, f"Inputs act {count(delay.samples, 'sample')} late."


def _sensor(positions: Sequence[PositionEstimate]) -> tuple[Sensor | None, str]:
    if any(p.noise is None for p in positions):
        names = ", ".join(p.name for p in positions if p.noise is None)
        return None, f"The noise of {names} is unknown: move the machine, and record longer without gaps."
    if any(_is_quantised(p) for p in positions) and all(_is_quantised(p) or _is_exact(p) for p in positions):
        steps = tuple(0.0 if p.quantisation is None else _rounded(p.quantisation.step, 9) for p in positions)
        return Quantised(steps), "There is hardly more noise than from rounding to steps."
    # All positions have the same kind of sensor: rounding is counted as noise.
    return GaussianNoise(tuple(_rounded(max(p.noise or 0.0, p.rounding), 2) for p in positions)), (
        "The measurements scatter this much around a smooth motion."
    )


def _is_quantised(p: PositionEstimate) -> bool:
    return p.quantisation is not None and not p.quantisation.printed and (p.noise or 0.0) < DOMINATES * p.rounding


def _is_exact(p: PositionEstimate) -> bool:
    return p.quantisation is None and p.noise == 0


def _rounded(value: float, digits: int) -> float:
    """The number with as many digits as the estimate deserves."""
    return float(f"{value:.{digits}g}")


def as_code(sensor: Sensor | None) -> str:
    """The sensor as it is written in a task."""
    if not isinstance(sensor, GaussianNoise | Quantised):
        return "unknown"
    values = sensor.std if isinstance(sensor, GaussianNoise) else sensor.step
    numbers = ", ".join(f"{v:.6g}" for v in values)
    return f"{type(sensor).__name__}(({numbers}{',' if len(values) == 1 else ''}))"
