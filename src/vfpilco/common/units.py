"""Units that are converted to another one."""

from __future__ import annotations

import math

UNITS: dict[str, tuple[str, float]] = dict.fromkeys(("deg", "°", "degree", "degrees"), ("rad", math.pi / 180))
UNITS |= {"mm": ("m", 1e-3), "cm": ("m", 1e-2), "mV": ("V", 1e-3), "mA": ("A", 1e-3), "mN": ("N", 1e-3)}


def converted(unit: str) -> tuple[str, float]:
    """The unit that a unit is converted to, and the factor; the unit itself and 1 if it is not converted."""
    return UNITS.get(unit) or UNITS.get(unit.lower()) or (unit, 1.0)
