"""Names and numbers as text that is safe in source code and documents, for any name."""

from __future__ import annotations

from typing import Literal

import numpy as np

from vfpilco.common.errors import UserError

Precision = Literal["float", "double"]
DTYPES: dict[str, type] = {"float": np.float32, "double": np.float64}

HARMLESS = " _-+.,:/=()°·Ω"
"""Characters other than letters and digits that end no comment, string, table cell or line."""
LONGEST = 80
"""Longer names are cut."""


def plain(name: str) -> str:
    """A name for a comment or a table: other characters become underscores, and long names are cut."""
    return "".join(c if c.isalnum() or c in HARMLESS else "_" for c in name[:LONGEST]).strip() or "_"


def rounded(array: np.ndarray, precision: Precision) -> np.ndarray:
    """The array in the precision of the export."""
    with np.errstate(over="ignore"):
        values = np.asarray(array, dtype=np.float64).astype(DTYPES[precision])
    if not np.all(np.isfinite(values)):
        raise UserError("The policy has values that are too large for float: export it in double.")
    return values


def inward(limits: np.ndarray, precision: Precision) -> np.ndarray:
    """Limits in the precision of the export, never beyond the given ones."""
    values = rounded(limits, precision)
    values = np.where(values > limits, np.nextafter(values, np.zeros_like(values)), values)
    if not np.all(values > 0):
        raise UserError("A limit of the inputs is too small for float: export it in double.")
    return values


def numbers(array: np.ndarray, suffix: str = "") -> list[str]:
    """A line per row of numbers, each with enough digits to read the same number back."""
    table = array.reshape(-1, array.shape[-1]) if array.size else array.reshape(0, 1)
    return [", ".join(f"{value!s}{suffix}" for value in row) for row in table]
