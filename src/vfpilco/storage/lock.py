"""The lock of a run folder: one learner at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.common.files import read_file, write_file

LOCK, HOLDER = ".lock", ".running.json"


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes from learning in `folder`; the operating system releases the lock when the process ends."""
    if not _supports_locks(folder) and not _is_alive(folder):
        (folder / LOCK).unlink(missing_ok=True)  # of a process that has ended, or copied with the folder
    lock = FileLock(folder / LOCK)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # A file that exists is then the lock.
            lock.acquire(timeout=1)
    except Timeout:
        remedy = "" if _supports_locks(folder) else f" (if it has ended, remove {folder / LOCK})"
        raise UserError(f"{folder} is in use by {holder(folder)}: wait for it, or stop it{remedy}.") from None
    try:
        held = {"pid": os.getpid(), "host": socket.gethostname(), "folder": _identity(folder)}
        write_file(folder / HOLDER, json.dumps(held))
        yield
    finally:
        with contextlib.suppress(OSError, UserError):
            (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether a process is learning in `folder`."""
    if not os.path.lexists(folder / LOCK) or (folder / LOCK).is_symlink():
        return False
    if not _supports_locks(folder):
        return _is_alive(folder)
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


def _supports_locks(folder: Path) -> bool:
    """Whether the file system has locks that end with their process; some network and container ones do not."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
    finally:
        os.close(handle)
    return True


def _is_alive(folder: Path) -> bool:
    """Whether the process that `folder` names as its learner may still be running, in this folder and not in a copy."""
    try:
        found = json.loads(read_file(folder / HOLDER))
        if found["folder"] != _identity(folder):
            return False
        if found["host"] == socket.gethostname():
            os.kill(int(found["pid"]), 0)
        return True
    except PermissionError:  # the process of another user
        return True
    except (OSError, UserError, *DATA_ERRORS):
        return False


def _identity(folder: Path) -> list[int]:
    status = folder.stat()
    return [status.st_dev, status.st_ino]
