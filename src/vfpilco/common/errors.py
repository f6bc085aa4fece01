"""Errors that a user can fix, each explained in one sentence."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path

NOT_STOPPED = 3
"""The exit code of the program if the machine could not be stopped."""
DATA_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What Python and NumPy raise if data are not what they should be."""


class UserError(Exception):
    """Something the user provided is wrong; the message says what, what was received, and what to do.

    Example:
        >>> import vfpilco
        >>> try:
        ...     vfpilco.task("cartpoel")
        ... except vfpilco.UserError as error:
        ...     print("did you mean" in str(error))
        True
    """

    exit_code = 2
    """The exit code of the program that it ends."""


def number_tuple(values: object, what: str) -> tuple[float, ...]:
    """Convert `values` to a tuple of floats.

    Args:
        values: An iterable of numbers.
        what: How to name the values in the error message.

    Raises:
        UserError: If `values` is a single number, or contains something that is not a number.
    """
    try:
        return tuple(float(value) for value in values)  # pyright: ignore[reportGeneralTypeIssues]
    except (TypeError, ValueError):
        raise UserError(
            f"{what} must be a tuple of numbers, one per position, got {values!r}: a single one needs a comma, as in "
            "(0.1,)."
        ) from None


def describe_exception(error: BaseException) -> str:
    """Summarise an exception raised by foreign code, with the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f", {Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else ""
    try:
        message = f": {' '.join(str(error).split())[:300]}"
    except Exception:  # Exceptions of others may fail to give their message.
        message = ""
    return f"{type(error).__name__}{message}{place}"


def unknown(kind: str, got: str, known: Iterable[str]) -> UserError:
    """The error for an unknown name, suggesting the closest known one."""
    known = sorted(known)
    near = difflib.get_close_matches(got, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(known)}."
    return UserError(f"There is no {kind} called {got!r}: {hint}")
