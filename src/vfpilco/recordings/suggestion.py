"""Memories and a sensor for a machine, from what its recordings show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vfpilco.recordings.delay import MOST_DELAY, Delay
from vfpilco.sensors import GaussianNoise, Quantised, Sensor

if TYPE_CHECKING:
    from vfpilco.recordings.inspection import PositionSeen

NOISY = (0.5, 1.5)
"""Noise of a difference, relative to the usual movement in a sample, from which one and two more positions help."""
DOMINATES = 2.0
"""Quantisation is the sensor's error where the noise is less than so many times that of rounding."""


@dataclass(frozen=True)
class Suggestion:
    """What to set, and why."""

    m_q: int
    m_u: int
    sensor: Sensor | None
    """None if the noise cannot be told."""
    reasons: dict[str, str]
    """A sentence for each of m_q, m_u and sensor."""


def suggest(positions: Sequence[PositionSeen], delay: Delay) -> Suggestion:
    """Memories that fit the delay and the noise, and a sensor that makes the same errors."""
    m_q, why_m_q = _position_memory(positions)
    m_u, why_m_u = _control_memory(delay)
    sensor, why_sensor = _sensor(positions)
    return Suggestion(m_q, m_u, sensor, {"m_q": why_m_q, "m_u": why_m_u, "sensor": why_sensor})


def _position_memory(positions: Sequence[PositionSeen]) -> tuple[int, str]:
    known = [p for p in positions if p.noise is not None and p.movement > 0]
    if not known:
        return 2, "The usual value: the noise cannot be told."
    noisiest = max(known, key=lambda p: np.sqrt(2) * p.noise / p.movement)
    share = float(np.sqrt(2) * noisiest.noise / noisiest.movement)
    m_q = 2 + sum(share > border for border in NOISY)
    if m_q == 2:
        return 2, f"The usual value: noise is at most {share:.0%} of the movement in a sample."
    return m_q, f"Noise is {share:.0%} of the movement of {noisiest.name} in a sample: older positions average it."


def _control_memory(delay: Delay) -> tuple[int, str]:
    if delay.samples is None:
        return 1, f"The usual value: the delay {delay.sentence}."
    if delay.logged_late:
        return 1, "As for no delay, once the inputs are moved up by one line."
    if delay.samples == 0:
        return 1, "Inputs act at once, and what is held in one interval still shows in the next."
    at_least = " at least" if delay.samples == MOST_DELAY else ""
    return 1 + delay.samples, f"Inputs act {delay.samples} sample{'s' * (delay.samples > 1)}{at_least} late."


def _sensor(positions: Sequence[PositionSeen]) -> tuple[Sensor | None, str]:
    if any(p.noise is None for p in positions):
        names = ", ".join(p.name for p in positions if p.noise is None)
        return None, f"The noise of {names} cannot be told: move the machine, and record longer without gaps."
    if any(_is_quantised(p) for p in positions) and all(_is_quantised(p) or _is_exact(p) for p in positions):
        steps = tuple(0.0 if p.quantisation is None else p.quantisation.step for p in positions)
        return Quantised(steps), "There is hardly more noise than from rounding to whole steps."
    # One kind of sensor for all positions: rounding is noise as well, and counted.
    return GaussianNoise(tuple(_rounded(max(p.noise or 0.0, p.rounding)) for p in positions)), (
        "The measurements scatter by so much around a smooth movement."
    )


def _is_quantised(p: PositionSeen) -> bool:
    return p.quantisation is not None and not p.quantisation.printed and (p.noise or 0.0) < DOMINATES * p.rounding


def _is_exact(p: PositionSeen) -> bool:
    return p.quantisation is None and p.noise == 0


def _rounded(value: float) -> float:
    """Two digits: the estimate is no better."""
    return float(f"{value:.2g}")


def as_code(sensor: Sensor | None) -> str:
    """The sensor as it stands in a task."""
    values: Any = getattr(sensor, "std", None) or getattr(sensor, "step", None)
    if values is None:
        return "unknown"
    numbers = ", ".join(f"{v:.6g}" for v in values)
    return f"{type(sensor).__name__}(({numbers}{',' if len(values) == 1 else ''}))"
