"""What a reader of a format returns, and how named arrays become a table."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from vfpilco.common.errors import UserError, unknown
from vfpilco.recordings.channels import Channels, split_unit, time_column
from vfpilco.recordings.table import MOST_ROWS, Table

GENERIC = ("data", "value", "values")
"""Last parts of a name that say nothing, such as the field of a message that has no other."""
MOST_COLUMNS = 1000


class Log(Protocol):
    """The content of a file."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be read from it."""
        ...

    @property
    def full(self) -> tuple[str, ...]:
        """Longer names of the columns; empty if they have none."""
        ...

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """The names of the columns that contain numbers."""
        ...

    def table(self, channels: Channels, /) -> Table:
        """A row per sample; which columns are inputs may matter for the order of events."""
        ...


class Reader(Protocol):
    """Reads a file of one format."""

    def __call__(self, path: Path, /) -> Log: ...


class Found(NamedTuple):
    """An array in a file."""

    path: tuple[str, ...]
    """Its name, and the names of what it is part of."""
    values: np.ndarray


Columns = Mapping[str, str]
"""What columns should be called, and what they are called in the file."""


def renamed(log: Any, columns: Columns) -> Any:
    """The log with other names of columns; a name without a unit keeps that of the column.

    Raises:
        UserError: If there is no such column.
    """
    names = list(log.names)
    known = [[_key(name) for name in names], [_key(name) for name in log.full]]
    for new, old in columns.items():
        places = {keys.index(_key(old)) for keys in known if _key(old) in keys}
        if not places:
            raise unknown(f"column of {log.path}", old, [split_unit(name)[0] for name in log.names])
        place = min(places)
        unit = split_unit(log.names[place])[1]
        names[place] = new if unit is None or split_unit(new)[1] is not None else f"{new} [{unit}]"
    return dataclasses.replace(log, names=tuple(names))


def _key(name: str) -> str:
    return split_unit(name)[0].lower().lstrip("/")


def package(name: str, what: str) -> Any:
    """An optional package; a `UserError` with the pip command if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"Reading {what} needs the package {name.split('.')[0]}: pip install 'vfpilco[logs]'."
        ) from error


@contextlib.contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turns the many kinds of errors that libraries raise for damaged files into a `UserError`."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{path} cannot be read as {what} ({reason}): save it again, or export it as CSV.") from error


def short_names(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """The shortest end of every path that no other path has, its parts joined by points; case does not matter."""
    bare = [_bare(path) for path in paths]
    ends = Counter(end for path in bare for end in {e.lower() for e in _ends(path)})
    return [next((e for e in _ends(path) if ends[e.lower()] == 1), ".".join(path)) for path in bare]


def _bare(path: tuple[str, ...]) -> tuple[str, ...]:
    return path[:-1] if len(path) > 1 and path[-1].lower() in GENERIC else path


def _ends(path: tuple[str, ...]) -> list[str]:
    """The ends of a path, short ones first; an index alone is no name."""
    return [".".join(path[i:]) for i in range(len(path) - 1, -1, -1) if not path[i].isdigit()] or [".".join(path)]


def tabulate(path: Path, arrays: Iterable[Found]) -> Table:
    """Arrays of one length as the columns of a table; arrays of another length are left out and named in it.

    Raises:
        UserError: If there is no array with several numbers, or too many.
    """
    found = list(arrays)
    samples = _samples(found)
    if samples < 2:
        listed = ", ".join(".".join(one.path) for one in found)[:200] or "nothing"
        raise UserError(
            f"{path} has no columns of numbers, it has {listed}: save a vector per signal, one of them time."
        )
    columns: list[tuple[tuple[str, ...], list[str]]] = []
    skipped = []
    for one in found:
        parts = _columns(one, samples)
        columns += parts
        skipped += [".".join(one.path)] * (not parts)
    if samples > MOST_ROWS or len(columns) > MOST_COLUMNS:
        raise UserError(
            f"{path} has {samples} rows and {len(columns)} columns, more than {MOST_ROWS} and {MOST_COLUMNS}: save a "
            "single trial."
        )
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    paths = [column for column, _ in columns]
    return Table(
        path,
        tuple(short_names(paths)),
        0,
        rows,
        list(range(1, samples + 1)),
        place="sample",
        full=tuple(".".join(column) for column in paths),
        skipped=tuple(skipped),
    )


def _samples(found: list[Found]) -> int:
    """The number of samples: the length of the time, else the length that most arrays have, the longest if several."""
    times = [one for one in found if time_column([one.path[-1]]) is not None and one.values.size > 1]
    lengths = Counter(max(one.values.shape) for one in times or found if one.values.ndim and one.values.size > 1)
    return max(lengths, key=lambda length: (lengths[length], length), default=0)


def _columns(one: Found, samples: int) -> list[tuple[tuple[str, ...], list[str]]]:
    """The columns of an array with a value per sample along one of its axes; none if it has no such axis."""
    values = np.atleast_1d(one.values)
    if values.ndim > 2 or samples not in values.shape:
        return []
    table = values.reshape(len(values), -1)
    table = table if len(table) == samples else table.T
    if table.shape[1] == 1:
        return [(one.path, _cells(table[:, 0]))]
    *above, last = one.path
    return [((*above, f"{last}_{i + 1}"), _cells(column)) for i, column in enumerate(table.T)]


def _cells(column: np.ndarray) -> list[str]:
    """The values as text from which the same numbers can be read."""
    if column.dtype.kind in "fiub":
        return [repr(value) for value in (column.astype(int) if column.dtype.kind == "b" else column).tolist()]
    return ["" if value is None else str(value) for value in column.tolist()]


def since_first(stamps: np.ndarray) -> np.ndarray:
    """Dates or durations as seconds since the first one; NaN where there is none."""
    known = stamps[~np.isnat(stamps)]
    if not len(known):
        return np.full(len(stamps), np.nan)
    apart = (stamps - known[0]).astype("timedelta64[ns]")
    return np.where(np.isnat(stamps), np.nan, apart.astype(np.int64) * 1e-9)


def flatten(content: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Every number and text in nested mappings and lists, with its path.

    A list whose neighbour `name` has a text for each entry, as that of joints in ROS, is named by these; other entries
    are counted from 0.
    """
    names = content.get("name")
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from flatten(value, (*above, str(key)))
        elif isinstance(value, list | tuple):
            named = isinstance(names, list) and len(names) == len(value) and all(isinstance(n, str) for n in names)
            labels = names if named and names is not None and key != "name" else map(str, range(len(value)))
            yield from flatten(dict(zip(labels, value, strict=True)), (*above, str(key)))
        else:
            yield (*above, str(key)), value
