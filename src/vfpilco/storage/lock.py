"""The lock of a run folder: one learner at a time."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_file, write_file

LOCK, HOLDER = ".lock", ".running.json"


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes from learning in `folder`; the operating system releases the lock when the process ends."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=1)
    except Timeout:
        raise UserError(f"{folder} is in use by {holder(folder)}: wait for it, or stop it.") from None
    try:
        write_file(folder / HOLDER, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        yield
    finally:
        with contextlib.suppress(OSError, UserError):
            (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether a process is learning in `folder`."""
    if not os.path.lexists(folder / LOCK) or (folder / LOCK).is_symlink():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def holder(folder: Path) -> str:
    """Which process is learning in `folder`."""
    try:
        found = json.loads(read_file(folder / HOLDER))
        return f"process {int(found['pid'])} on {str(found['host'])[:100]}"
    except (OSError, UserError, ValueError, KeyError, TypeError):
        return "another process"
