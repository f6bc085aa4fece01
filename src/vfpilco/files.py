"""Files that are whole or absent, and that show damage.

Whatever we write is sealed: a checksum of the content stands in the content, in the place that was blank when it was
computed. Whatever we read must be a regular file of sensible size; nothing that is read can execute code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from vfpilco.errors import UserError

FORMAT = 3
"""The version of everything we write."""
MOST_BYTES = 2**30
"""No file of ours is larger."""
BLANK = "#" * 32
"""Stands where the checksum will."""


class Damaged(UserError):
    """A file is not what was written."""


# -- whole files -------------------------------------------------------------------------------------------------


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` so that a reader, or a crash, finds the old file or the new one and nothing between."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    with contextlib.suppress(OSError):  # Not every file system can do this; the rename is safe but for a power cut.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write to, which becomes `path` when all is written; nothing is left of it where something fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # of a write that was cut off
    temporary.mkdir()
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def read_whole(path: Path) -> bytes:
    """The content of a regular file; not of a pipe or device, and nothing of a size that cannot be ours."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(f"{path} cannot be read ({error.strerror})") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Damaged(f"{path} is not a file")
        if status.st_size > MOST_BYTES:
            raise Damaged(f"{path} is {status.st_size} bytes long, more than any file of ours")
        with open(handle, "rb", closefd=False) as file:
            return file.read(MOST_BYTES)
    finally:
        os.close(handle)


# -- seals -------------------------------------------------------------------------------------------------------


def seal(content: bytes) -> bytes:
    """`content` with its one blank filled in by the checksum of the whole."""
    return content.replace(BLANK.encode(), _digest(content).encode(), 1)


def check_seal(content: bytes, checksum: Any) -> None:
    """Refuse content that is not what was sealed with `checksum`."""
    if not isinstance(checksum, str) or len(checksum) != len(BLANK):
        raise ValueError("it has no checksum")
    if _digest(content.replace(checksum.encode(), BLANK.encode(), 1)) != checksum:
        raise ValueError("its checksum is wrong")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[: len(BLANK)]


# -- JSON --------------------------------------------------------------------------------------------------------


def to_json(row: dict[str, Any], indent: int | None = None) -> str:
    """A sealed JSON object."""
    return seal(json.dumps({**row, "checksum": BLANK}, indent=indent).encode()).decode()


def from_json(text: bytes) -> dict[str, Any]:
    """A JSON object written by `to_json`; `ValueError` says what is wrong with it."""
    try:
        row = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    if row.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is {str(row['format'])[:20]}, this version reads {FORMAT}")
    check_seal(text, row.pop("checksum", None))
    return row


# -- arrays ------------------------------------------------------------------------------------------------------


def write_arrays(path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Keep named arrays, and what is to be known about them, in one safetensors file."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    # One metadata entry: their order is not fixed.
    metadata = {"vfpilco": json.dumps({"format": FORMAT, **about, "checksum": BLANK})}
    write_whole(path, seal(save(contiguous, metadata)))


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `write_arrays` wrote; `Damaged` if it is not that any more."""
    content = read_whole(path)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = json.loads(header["__metadata__"]["vfpilco"])
        if about.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}, that of this version")
        check_seal(content, about.pop("checksum", None))
        return load(content), about
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"{path} is damaged or not a file of ours ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "it does not hold what it should"
