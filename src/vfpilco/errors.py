"""What can go wrong in a way that a person can mend, said in one sentence."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vfpilco.trial import Trial


class UserError(Exception):
    """Something the user gave is wrong; the message says what, what was got, and what to do."""


class PlantError(UserError):
    """The plant failed during a trial; `partial` holds what was recorded until then."""

    def __init__(self, message: str, partial: Trial | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a trial, after the plant was stopped; `partial` holds what was recorded until then."""

    def __init__(self, message: str, partial: Trial | None = None) -> None:
        super().__init__(message)
        self.partial = partial


def numbers_of(values: object, what: str) -> tuple[float, ...]:
    """Numbers in a tuple; one alone, or what is no number, is refused with the name of what was given."""
    try:
        return tuple(float(value) for value in values)  # pyright: ignore[reportGeneralTypeIssues]
    except (TypeError, ValueError):
        raise UserError(
            f"{what} must be numbers in a tuple, one for every position, got {values!r}: one alone needs a comma, "
            "as in (0.1,)."
        ) from None


def told(error: BaseException) -> str:
    """An exception of somebody else's code in a few words, with the line that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f", {Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{place}"


def unknown(kind: str, got: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not one of the known ones, with the nearest one suggested."""
    known = sorted(known)
    near = difflib.get_close_matches(got, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(known)}."
    return UserError(f"There is no {kind} called {got!r}: {hint}")
