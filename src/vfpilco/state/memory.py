"""What a controller remembers and what its policy sees of it, as data: for export to other languages.

Every representation remembers in the same two ways: a window of the last measurements, and linear filters of them. A
memory is a table with a column for every measured number z. Its first rows are the last measurements, newest first;
the rows below are the memories of the filters, m ← A m + b z, one filter for every column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Entry(NamedTuple):
    """An entry of x*: a number of the memory, minus the one in row `less` of the same column if that is given."""

    row: int
    column: int
    less: int | None = None
    of: Literal["", "sin", "cos"] = ""


@dataclass(frozen=True)
class Memory:
    """How a memory starts and changes, and what the policy sees of it."""

    turning: tuple[bool, ...]
    """Which measured numbers are angles, which are unwrapped."""
    window: int
    """Rows that hold the last measurements."""
    entries: tuple[Entry, ...]
    """x*."""
    a: np.ndarray
    """A of the filter of every column, (columns, filters, filters)."""
    b: np.ndarray
    """b of the filter of every column, (columns, filters)."""

    @property
    def columns(self) -> int:
        """How many numbers are measured."""
        return len(self.turning)

    @property
    def filters(self) -> int:
        """Rows that hold the filters' memories."""
        return self.b.shape[1]

    @property
    def rows(self) -> int:
        """All rows."""
        return self.window + self.filters

    @property
    def start(self) -> np.ndarray:
        """What each row is after the first measurement, as a fraction of it: at rest, filters without a velocity."""
        return np.array([1.0] * self.window + [float(i == 0) for i in range(self.filters)])


def window_memory(turning: tuple[bool, ...], window: int, entries: list[Entry]) -> Memory:
    """The memory of a controller that needs no filters."""
    columns = len(turning)
    return Memory(turning, window, tuple(entries), np.zeros((columns, 0, 0)), np.zeros((columns, 0)))


def seen(angles: tuple[bool, ...], row: int) -> list[Entry]:
    """The positions in a row as the policy sees them, each angle as its sine and cosine."""
    entries: list[Entry] = []
    for i, angle in enumerate(angles):
        entries += [Entry(row, i, of="sin"), Entry(row, i, of="cos")] if angle else [Entry(row, i)]
    return entries
