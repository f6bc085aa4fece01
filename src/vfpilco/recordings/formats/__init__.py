"""Logs in the formats that other programs write; a new format is a module here and a line in `READERS`.

A reader is called with a file and returns a `Log`: either a `Table`, whose columns have a value per sample, or
`Streams`, whose messages came at times of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vfpilco.common.errors import UserError
from vfpilco.recordings.formats import matlab, mcap, parquet
from vfpilco.recordings.formats.base import Log, Reader, readable
from vfpilco.recordings.table import read_table

READERS: Mapping[str, tuple[str, Reader]] = {
    ".mat": ("a MATLAB file", matlab.read),
    ".parquet": ("a Parquet file", parquet.read),
    ".mcap": ("an MCAP file", mcap.read),
}
"""What a file with this ending is, and what reads it; every other file is taken for CSV."""


def read_file(path: Path) -> Log:
    """The content of a log in any of the formats; a `UserError` says in one sentence why it cannot be read."""
    if path.suffix.lower() not in READERS:
        return read_table(path)
    what, read = READERS[path.suffix.lower()]
    if not _exists(path):
        raise UserError(f"There is no file {str(path)!r}: give {what} of one trial.")
    if not path.is_file():
        raise UserError(f"{path} is not a file: give {what} of one trial.")
    with readable(path, what):
        return read(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except ValueError:  # a name that contains a zero byte
        return False
