"""How punctual the samples of a machine that is driven in real time have to be."""

from __future__ import annotations

from dataclasses import dataclass

from vfpilco.common.errors import UserError


@dataclass(frozen=True)
class RealTime:
    """How punctual samples have to be when a machine is driven in real time.

    Example:
        >>> RealTime(missed=0.5, most_missed=0)
        RealTime(late=0.1, missed=0.5, most_missed=0, step_timeout=1.0, reset_timeout=300.0)
    """

    late: float = 0.1
    """A sample counts as late if it arrives later than this fraction of a sampling time after it was due."""
    missed: float = 1.0
    """A sample misses its deadline if it arrives later than this fraction of a sampling time after it was due."""
    most_missed: int = 3
    """How many deadlines a trial may miss; at the next one the machine is stopped."""

    step_timeout: float = 1.0
    """A step hangs if it takes this many seconds more than a sampling time: another thread stops the machine, and the
    trial ends. `math.inf`: it may take as long as it likes."""
    reset_timeout: float = 300.0
    """A reset hangs if it takes this many seconds; long, because a person may have to set up the machine."""

    def __post_init__(self) -> None:
        for name in ("step_timeout", "reset_timeout"):
            if not getattr(self, name) > 0:
                raise UserError(f"RealTime needs a positive {name}, got {getattr(self, name)}: give it in seconds.")
        if not (0 < self.late <= self.missed < float("inf")) or self.most_missed < 0:
            raise UserError(
                f"RealTime needs 0 < late <= missed and most_missed >= 0, got {self.late}, {self.missed} and "
                f"{self.most_missed}: give fractions of a sampling time such as 0.1 and 1."
            )
