"""Files that are complete or absent, and that reveal damage.

Every file we write contains a checksum of its own content, in a place that was blank when the checksum was computed.
Every file we read must be a regular file of plausible size; nothing that is read can execute code.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.common.text import is_printable, printable

Row = TypeVar("Row")
FORMAT = 5
"""The version of everything we write."""
READABLE = (3, 4, 5)
"""The versions that we read."""
MOST_BYTES = 2**30
"""No file that we write is larger."""
BLANK = "#" * 32
"""Placeholder for the checksum."""


class Damaged(UserError):
    """A file does not have the content that was written."""


# -- complete files -------------------------------------------------------------------------------------------------


def write_file(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` atomically: a reader or a crash finds either the old file or the new one."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
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
    with contextlib.suppress(
        OSError
    ):  # Not every file system supports this; only a power cut could then undo the rename.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends; if the block fails, nothing is left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        temporary.mkdir()
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _temporary(path: Path) -> Path:
    """Where a file or folder is written before it is complete; what a killed process left there is removed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if not _is_writing(left):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _is_writing(temporary: Path) -> bool:
    """Whether the process that a temporary folder is named after is another one that is still running."""
    try:
        process = int(temporary.name.split(".")[-2])
        os.kill(process, 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except OSError:
        return True
    return process != os.getpid()


def read_file(path: Path) -> bytes:
    """The content of a regular file; pipes, devices and implausibly large files are refused."""
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
            raise Damaged(f"{path} is {status.st_size} bytes long, more than any file that vfpilco writes")
        with open(handle, "rb", closefd=False) as file:
            return file.read(MOST_BYTES)
    finally:
        os.close(handle)


# -- checksums -------------------------------------------------------------------------------------------------------


def add_checksum(content: bytes) -> bytes:
    """Replace the placeholder in `content` with the checksum of the content."""
    return content.replace(BLANK.encode(), _digest(content).encode(), 1)


def verify_checksum(content: bytes, checksum: Any) -> None:
    """Raise a `ValueError` unless `content` has this checksum."""
    if not isinstance(checksum, str) or len(checksum) != len(BLANK) or not checksum.isascii():
        raise ValueError("it has no checksum")
    if _digest(content.replace(checksum.encode(), BLANK.encode(), 1)) != checksum:
        raise ValueError("its checksum is wrong")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[: len(BLANK)]


# -- JSON --------------------------------------------------------------------------------------------------------


def to_json(row: dict[str, Any], indent: int | None = None) -> str:
    """A JSON object with its checksum; control characters in its texts are written out."""
    return add_checksum(json.dumps(_texts(row, printable) | {"checksum": BLANK}, indent=indent).encode()).decode()


def from_json(text: bytes) -> dict[str, Any]:
    """A JSON object written by `to_json`; `ValueError` says what is wrong with it."""
    row = plain_json(text)
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    if row.get("format", FORMAT) not in READABLE:
        raise ValueError(f"its format is {str(row['format'])[:20]}, this version reads {_listed()}")
    verify_checksum(text, row.pop("checksum", None))
    return row


def plain_json(text: bytes | str) -> Any:
    """A JSON value whose texts can be printed; `ValueError` says what is wrong with it."""
    try:
        return _texts(json.loads(text), _check_text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_json_lines(path: Path, make: Callable[[Any], Row]) -> list[Row]:
    """What `make` makes of the JSON value in every line of a file; a `UserError` names the line that is damaged."""
    try:
        lines = read_file(path).decode().splitlines()
    except (OSError, UnicodeDecodeError, Damaged) as error:
        raise UserError(f"{path} cannot be read ({error}): fix or move it.") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(make(plain_json(line)))
        except ValueError as error:
            raise UserError(f"{path} is damaged in line {number} ({error}): fix or remove the line.") from error
    return rows


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with all of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): _texts(entry, change) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry, change) for entry in value]
    return value


def _check_text(text: str) -> str:
    if not is_printable(text):
        raise ValueError(f"it contains {printable(text)[:60]!r}, which cannot be printed")
    return text


# -- arrays ------------------------------------------------------------------------------------------------------


def write_arrays(path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Write named arrays, and the JSON object `about`, to one safetensors file."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    # One metadata entry: their order is not fixed.
    metadata = {"vfpilco": json.dumps({"format": FORMAT, **_texts(about, printable), "checksum": BLANK})}
    write_file(path, add_checksum(save(contiguous, metadata)))


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what `write_arrays` wrote; `Damaged` if the file was changed since."""
    content = read_file(path)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = plain_json(header["__metadata__"]["vfpilco"])
        if about.pop("format") not in READABLE:
            raise ValueError(f"this version reads format {_listed()}")
        verify_checksum(content, about.pop("checksum", None))
        return load(content), about
    except (SafetensorError, *DATA_ERRORS) as error:
        raise Damaged(f"{path} is damaged or was not written by vfpilco ({_reason(error)})") from error


def _listed() -> str:
    return f"{', '.join(map(str, READABLE[:-1]))} and {READABLE[-1]}"


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "its content is incomplete"
