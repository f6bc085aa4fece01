"""Messages that came at times of their own, and how they become a table with a row per sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.recordings.channels import Channels, columns_of
from vfpilco.recordings.table import Table
from vfpilco.recordings.times import median_interval

TIME = "time [s]"
Place = tuple[str, ...]
"""A topic and the path of a number in its messages."""
Messages = tuple[np.ndarray, np.ndarray]
"""The times of messages in nanoseconds (n,), and a row of numbers for each (n, numbers)."""


@dataclass(frozen=True)
class Streams:
    """The numbers in the topics of a file."""

    path: Path
    places: tuple[Place, ...]
    names: tuple[str, ...]
    """What each is called."""
    full: tuple[str, ...]
    """The same with its topic and all parts of its path."""
    skipped: tuple[str, ...]
    """Topics without numbers."""
    read: Callable[[str, Sequence[Place]], Messages]
    """Reads some numbers of a topic."""

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """The names of all columns: only numbers are read."""
        return self.names

    def table(self, channels: Channels) -> Table:
        """A row per message of the first position's topic.

        Positions of other topics are those of the message nearest in time. Inputs of other topics are computed from a
        measurement and arrive after it: they are those in effect in the middle between two samples.
        """
        wanted = [c.name for c in (*channels.positions, *channels.inputs)]
        columns = columns_of(wanted, self.names, self.path)
        places = [self.places[i] for i in columns]
        read = {topic: self._read(topic, places) for topic in dict.fromkeys(place[0] for place in places)}
        clock, _ = read[places[0][0]]
        middle = clock + 0.5e9 * np.nan_to_num(median_interval(clock / 1e9))
        cells, known = [], np.ones(len(clock), dtype=bool)
        for i, place in enumerate(places):
            times, values = read[place[0]]
            column = values[:, [p for p in places if p[0] == place[0]].index(place)]
            if place[0] == places[0][0]:
                rows = np.arange(len(clock))
            elif i < len(channels.positions):
                rows = _nearest(times, clock)
            else:
                rows = np.searchsorted(times, middle, side="right") - 1
            known &= rows >= 0  # Before its first message a topic has no value.
            cells.append(column[np.maximum(rows, 0)])
        seconds = (clock - clock[0]) * 1e-9
        table = np.column_stack([seconds, *cells])[known]
        ignored = [name for i, name in enumerate(self.full) if i not in columns]
        return Table(
            self.path,
            (TIME, *(self.names[i] for i in columns)),
            0,
            [list(map(repr, row)) for row in table.tolist()],
            (np.flatnonzero(known) + 1).tolist(),
            place="sample",
            skipped=(*ignored, *self.skipped),
        )

    def _read(self, topic: str, places: Sequence[Place]) -> Messages:
        times, values = self.read(topic, [place for place in places if place[0] == topic])
        if not len(times):
            raise UserError(f"{self.path} has no messages of {topic}: record it again.")
        order = np.argsort(times, kind="stable")
        return times[order], values[order]


def _nearest(times: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The indices of the times that are nearest to the wanted ones."""
    after = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(times[before] - wanted) <= np.abs(times[after] - wanted), before, after)
