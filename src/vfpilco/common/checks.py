"""Checks of single values, with error messages that name them."""

from __future__ import annotations

import numbers

from vfpilco.common.errors import UserError


def check_integer(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise a `UserError` unless `value` is an integer within bounds."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:  # pyright: ignore
        raise UserError(f"{name} must be an integer of at least {least}, got {value!r}.")
    if most is not None and value > most:  # pyright: ignore[reportOperatorIssue]
        raise UserError(f"{name} must be an integer of at most {most}, got {value!r}.")


def check_number(name: str, value: object, low: float, high: float, hint: str = "") -> None:
    """Raise a `UserError` unless `value` is a finite number with `low` <= value <= `high`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise UserError(f"{name} must be a number, got {value!r}.")
    if not (low <= float(value) <= high and abs(float(value)) < float("inf")):
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise UserError(f"{name} must be {bounds}, got {value}{f': {hint}' if hint else ''}.")
