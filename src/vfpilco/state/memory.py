"""What a controller remembers and what its policy sees of it, as data: for export to other languages.

Every representation remembers in the same ways: a window of the last measurements, linear filters of them, and the last
inputs. A memory is a table with a column for every measured number z. Its first rows are the last measurements, newest
first; the rows below are the memories of the filters, m ← A m + b z, one filter for every column. The last inputs, if
the policy sees them, are a table of their own with a column for every input, newest first, zeros at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Entry(NamedTuple):
    """An entry of x*: a number of the memory, minus the one in row `less` of the same column if that is given.

    If `applied`, it is a past input: that of `column`, in row 0 the last one, u_{t-1}.
    """

    row: int
    column: int
    less: int | None = None
    of: Literal["", "sin", "cos"] = ""
    applied: bool = False


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
    past_inputs: int = 0
    """How many past inputs are remembered: u_{t-1}, u_{t-2}, …"""

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


def window_memory(turning: tuple[bool, ...], window: int, entries: list[Entry], past_inputs: int = 0) -> Memory:
    """The memory of a controller that needs no filters."""
    columns = len(turning)
    return Memory(turning, window, tuple(entries), np.zeros((columns, 0, 0)), np.zeros((columns, 0)), past_inputs)


def seen(angles: tuple[bool, ...], row: int) -> list[Entry]:
    """The positions in a row as the policy sees them, each angle as its sine and cosine."""
    entries: list[Entry] = []
    for i, angle in enumerate(angles):
        entries += [Entry(row, i, of="sin"), Entry(row, i, of="cos")] if angle else [Entry(row, i)]
    return entries
