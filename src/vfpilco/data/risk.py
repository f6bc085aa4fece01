"""What may happen in a trial: the risk of leaving safe ranges, and how far and how fast the machine may move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vfpilco.common.text import readable


@dataclass(frozen=True)
class RangeRisk:
    """The risk that a position leaves its safe range.

    Example:
        >>> RangeRisk("p", 0.12, "above", 1.3).words
        'p 12 % (above, at about 1.3 s)'
    """

    position: str
    """The name of the position."""
    probability: float
    """The fraction of the particles that leave the range during the trial."""
    side: Literal["below", "above"] | None = None
    """The side on which most of these leave first; None if none does."""
    time_s: float | None = None
    """When they leave on that side: the median of the first samples outside."""

    @property
    def words(self) -> str:
        """The risk, where and when."""
        if self.side is None or self.time_s is None:
            return f"{self.position} {percent(self.probability)}"
        return f"{self.position} {percent(self.probability)} ({self.side}, at about {self.time_s:.2g} s)"


@dataclass(frozen=True)
class Extreme:
    """How large a position, a speed or an input becomes: quantiles, over the particles, of its largest magnitude.

    Example:
        >>> Extreme("p", "m", 0.31, 0.42).words
        'p 0.31/0.42 m'
        >>> Extreme("force", "N", 10.0, 10.0).words
        'force 10 N'
    """

    name: str
    """The name of the position or input."""
    unit: str
    """Its unit."""
    most_95: float
    """In 95 % of the particles the magnitude stays at or below this."""
    most_999: float
    """In 99.9 % of them; of less than 1000 particles this is the largest one, nothing is extrapolated."""

    @property
    def words(self) -> str:
        """Both quantiles with their unit; one number if they read the same."""
        return f"{self.name} {self.sizes} {self.unit}".rstrip()

    @property
    def sizes(self) -> str:
        """Both quantiles, or one number."""
        likely, extreme = readable(self.most_95, 2), readable(self.most_999, 2)
        return likely if likely == extreme else f"{likely}/{extreme}"


@dataclass(frozen=True)
class Risk:
    """The risk of a trial, before it is executed: counted over the particles that predict it.

    Example:
        >>> Risk(200, 0.12, [RangeRisk("p", 0.12, "above", 1.3)]).words
        'leaving p 12 % (above, at about 1.3 s)'
        >>> Risk(200, 0.0, [RangeRisk("p", 0.0)]).words
        'leaving p 0 of 200 particles'
    """

    particles: int
    """How many particles there are: no probability below one of them can be distinguished from zero."""
    leaving: float
    """The fraction of them that leave any safe range."""
    ranges: list[RangeRisk] = field(default_factory=list)
    """The risk of every position that has a safe range."""
    positions: list[Extreme] = field(default_factory=list)
    """The largest absolute value of every position."""
    speeds: list[Extreme] = field(default_factory=list)
    """The largest speed of every position: the difference of two samples over the sampling time."""
    inputs: list[Extreme] = field(default_factory=list)
    """The largest absolute value of every input."""

    @property
    def words(self) -> str:
        """The risk of leaving safe ranges in a few words; empty if there are none."""
        if not self.ranges:
            return ""
        risky = [each.words for each in self.ranges if each.probability]
        names = ", ".join(each.position for each in self.ranges)
        return f"leaving {', '.join(risky)}" if risky else f"leaving {names} 0 of {self.particles} particles"

    @property
    def reach(self) -> str:
        """How far and how fast positions go, and the largest inputs, in 95 % and in 99.9 % of the particles.

        Example:
            >>> position, speed = Extreme("p", "m", 0.31, 0.42), Extreme("p", "m", 1.2, 1.9)
            >>> force = Extreme("force", "N", 9.8, 10.0)
            >>> Risk(200, 0.0, positions=[position], speeds=[speed], inputs=[force]).reach
            'p 0.31/0.42 m, 1.2/1.9 m/s; force 9.8/10 N (95/99.9 %)'
        """
        moving = zip(self.positions, self.speeds, strict=True)
        positions = [f"{each.words}, {speed.sizes} {speed.unit or 1}/s" for each, speed in moving]
        channels = [*positions, *(each.words for each in self.inputs)]
        return f"{'; '.join(channels)} (95/99.9 %)" if channels else ""


def percent(probability: float) -> str:
    """A probability in percent, with a digit after the point if it is small."""
    return f"{100 * probability:.{1 if 0 < probability < 0.0995 else 0}f} %".replace(".0 %", " %")
