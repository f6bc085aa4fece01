"""A recording as a table of cells, and CSV files: separators, decimal commas, byte order marks, quotes."""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vfpilco.common.errors import UserError
from vfpilco.common.files import Damaged, read_file
from vfpilco.common.text import printable

MOST_BYTES = 64 * 2**20
"""No recording of a trial is larger than this."""
MOST_ROWS = 200_000
MOST_CHARACTERS = 20_000
"""The longest line."""
CHECKSUM = "sha256,"
"""Starts the last line of a trial that this package logged; it is not a sample."""
SEPARATORS = ("\t", ";", ",")
"""In the order of preference: a line with another separator may contain decimal commas."""
EXPECTED = "give a CSV file of one trial, with a line of column names and a line per sample"


@dataclass(frozen=True)
class Table:
    """Named columns of cells as they are in the file, and the line of each row."""

    path: Path
    names: tuple[str, ...]
    header: int
    """The line of the column names."""
    rows: list[list[str]]
    lines: list[int]
    place: str = "line"
    """What `lines` counts: lines of a text, or samples of a file that has no lines."""
    full: tuple[str, ...] = ()
    """Longer names of the columns, if they have any."""
    skipped: tuple[str, ...] = ()
    """What else the file contains."""

    def table(self, _: object = None) -> Table:
        """The table itself."""
        return self

    @property
    def printed(self) -> bool:
        """Whether the numbers were printed with some number of digits."""
        return self.place == "line"

    @cached_property
    def without_numbers(self) -> tuple[int, ...]:
        """The columns that contain cells, but not a single number: texts."""
        columns = [[cell for cell in self.column(i) if cell] for i in range(len(self.names))]
        return tuple(i for i, cells in enumerate(columns) if cells and all(number(cell) is None for cell in cells))

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """The names of the columns that contain numbers."""
        return tuple(name for i, name in enumerate(self.names) if i not in self.without_numbers)

    def rows_at(self, rows: Sequence[int]) -> Table:
        """Some of the rows."""
        return dataclasses.replace(self, rows=[self.rows[i] for i in rows], lines=[self.lines[i] for i in rows])

    def column(self, i: int) -> list[str]:
        """The cells of a column; a missing one is empty."""
        return [row[i].strip() if i < len(row) else "" for row in self.rows]


def read_table(path: Path) -> Table:
    """The cells of a CSV file; a `UserError` says why a file is not one."""
    lines = [(i, line) for i, line in enumerate(_lines(path), 1) if line.strip() and line.lstrip()[0] not in "#%"]
    if lines and lines[-1][1].startswith(CHECKSUM):
        lines.pop()
    if not lines:
        raise UserError(f"{path} has no lines: {EXPECTED}.")
    (header, first), *others = lines
    separator = _separator(first)
    names = tuple(cell.strip() for cell in _cells(first, separator))
    while names and not names[-1]:
        names = names[:-1]
    if not names or all(number(name) is not None for name in names):
        raise UserError(f"Line {header} of {path} does not name the columns, it is {first[:60]!r}: {EXPECTED}.")
    if len(others) > MOST_ROWS:
        raise UserError(f"{path} has {len(others)} rows, more than the {MOST_ROWS} of any trial: {EXPECTED}.")
    _check_dialect(path, header, first, separator, others)
    rows = [_cells(line, separator) for _, line in others]
    return Table(path, names, header, rows, [i for i, _ in others])


def number(cell: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if it is not a number."""
    text = cell.strip()
    if "," in text and "." not in text:
        text = text.replace(",", ".")
    if "_" in text:  # Python would read 1_000 as a number.
        return None
    try:
        return float(text)
    except ValueError:
        return None


def decimals(cells: list[str]) -> int | None:
    """The largest number of digits after the decimal point; None if some numbers have an exponent."""
    most = 0
    for cell in cells:
        if re.search(r"[eE]", cell):
            return None
        most = max(most, len(re.split(r"[.,]", cell, maxsplit=1)[1]) if re.search(r"[.,]", cell) else 0)
    return most


def _lines(path: Path) -> list[str]:
    """The lines of a text file of plausible size."""
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path} is {path.stat().st_size} bytes long, more than any trial: {EXPECTED}.")
        content = read_file(path)
    except (FileNotFoundError, ValueError) as error:  # A name that contains a zero byte raises a ValueError.
        raise UserError(f"There is no file {str(path)!r}: {EXPECTED}.") from error
    except Damaged as error:
        raise UserError(f"{error}: {EXPECTED}.") from error
    lines = re.split(r"\r\n|\n|\r", _text(path, content))
    long = next((i for i, line in enumerate(lines, 1) if len(line) > MOST_CHARACTERS), None)
    if long is not None:
        raise UserError(
            f"Line {long} of {path} has {len(lines[long - 1])} characters, more than any sample: {EXPECTED}."
        )
    return lines


def _text(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, or as Windows programs write it, in UTF-16 or Latin-1."""
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    start = text[:100_000]
    if "\0" in text or sum(not (c.isprintable() or c in "\t\r\n\f\v") for c in start) > 0.01 * len(start):
        raise UserError(f"{path} is not text: {EXPECTED}.")
    return re.sub(r"[^\t\r\n]+", lambda found: printable(re.sub(r"[\f\v]", " ", found[0])), text)


def _separator(header: str) -> str:
    """The separator of the column names."""
    return max(SEPARATORS, key=_unquoted(header).count)


def _unquoted(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line)


def _check_dialect(path: Path, header: int, first: str, separator: str, others: list[tuple[int, str]]) -> None:
    """Refuse samples with another separator than the column names, and decimal commas in cells separated by commas."""
    if separator not in first and " " in first.strip():
        raise UserError(
            f"Line {header} of {path} is {first[:60]!r}, which is the name of a single column: separate columns by "
            "commas, semicolons or tabs."
        )
    width, words = first.count(separator), {"\t": "tabs", ";": "semicolons", ",": "commas"}
    for line, text in others[:1]:
        other = next((each for each in SEPARATORS if each in _unquoted(text)), separator)
        if other != separator and text.count(other) >= width != text.count(separator):
            raise UserError(
                f"{path} separates the column names by {words[separator]} and the samples from line {line} on by "
                f"{words[other]}: use the same separator throughout."
            )
    if separator == "," and not any(re.search(r'[."]', text) for _, text in others):
        # An integer does not begin with a zero: such a cell is the part after a decimal comma.
        split = (line for line, text in others if re.search(r"\d\s*,\s*0\d", text) and text.count(",") != width)
        for line in split:
            raise UserError(
                f"{path} has decimal commas and commas between the columns, as line {line} shows: separate the columns "
                "by semicolons, or use decimal points."
            )


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line; lines are read one by one, so that an unclosed quote affects a single line."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)
