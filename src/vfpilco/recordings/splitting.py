"""Cutting a recording where samples are missing, into parts that can be learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vfpilco.common.text import count
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.findings import Finding
from vfpilco.recordings.table import Table
from vfpilco.recordings.times import GAP, median_interval


@dataclass(frozen=True)
class Parts:
    """Where a recording is cut."""

    rows: list[list[int]]
    """The rows of every part that is long enough."""
    least: int
    """How many samples a part must have."""
    gaps: int
    """How often samples are missing, or the time goes back."""
    short: int
    """How many parts are too short."""

    def finding(self, table: Table) -> Finding:
        """What was done, in words."""
        at = f" at {count(self.gaps, 'gap')}" if self.gaps else ""
        left = f"; {count(self.short, 'part')} with fewer than {self.least} samples left out" if self.short else ""
        sentence = f"the file is cut{at} into {count(len(self.rows), 'trial')}{left}."
        return Finding("remark", "split", table.lines[0], sentence, place=table.place)


def parts(times: np.ndarray, q: np.ndarray, u: np.ndarray, channels: Channels) -> Parts:
    """Cut where samples are missing or invalid, and what is longer than the horizon into parts of that length.

    Args:
        times: Seconds (n,).
        q: Positions (n, d_q); NaN where there is none.
        u: Inputs (n, d_u), likewise. The last sample of a part needs no inputs.
        channels: Horizon and memory.
    """
    usable = np.flatnonzero(np.isfinite(times) & np.isfinite(q).all(axis=1))
    intervals, typical = np.diff(times[usable]), median_interval(times[usable])
    ends = (intervals < 0) | (intervals >= GAP * typical) | (np.diff(usable) > 1)
    ends |= ~np.isfinite(u[usable[:-1]]).all(axis=1)
    pieces = np.split(usable, np.flatnonzero(ends) + 1) if len(usable) else []
    least, found, short = channels.memory + 3, [], 0
    for piece in pieces:
        steps = channels.horizon or len(piece)
        for begin in range(0, max(len(piece) - 1, 1), steps):
            part = piece[begin : begin + steps + 1]  # The last position of a part is the first of the next.
            if len(part) >= least:
                found.append(part.tolist())
            elif begin == 0:  # the rest of a long part is not worth a remark
                short += 1
    return Parts(found, least, len(pieces) - 1, short)
