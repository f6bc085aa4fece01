"""Task files that this user has run: only these are run again because a run folder names them.

The file `task-files` in the user's state folder has a line for each: its checksum and its path. A file that was changed
or moved is not known any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_file, write_file
from vfpilco.common.places import state_folder

LIST = "task-files"
MOST = 1000
"""Files that are remembered; the oldest are forgotten."""


def remember(path: Path, source: bytes) -> None:
    """Remember that the user has run a file; a state folder that cannot be written to is left alone."""
    line, known = _line(path, source), _known()
    folder = state_folder()
    if folder is not None and line not in known:
        with contextlib.suppress(OSError):
            write_file(folder / LIST, b"".join(each + b"\n" for each in [*known, line][-MOST:]))


def is_known(path: Path, source: bytes) -> bool:
    """Whether the user has run this file with this content."""
    return _line(path, source) in _known()


def _line(path: Path, source: bytes) -> bytes:
    return hashlib.sha256(source).hexdigest().encode() + b"  " + os.fsencode(path.resolve()).replace(b"\n", b"?")


def _known() -> list[bytes]:
    folder = state_folder()
    try:
        return [] if folder is None else read_file(folder / LIST).splitlines()
    except (OSError, UserError):
        return []
