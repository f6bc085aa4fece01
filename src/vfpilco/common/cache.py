"""The folder of compiled code: its size is limited when a program starts.

JAX can limit it too, but then takes a lock for every file that it reads or writes, and waits for ten seconds whenever
another process keeps that lock.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

CACHED, OUTDATED = "*-cache", "*-atime"
"""The files of the cache, and those in which JAX kept the times of their last use where it limited the size."""


def prune(folder: Path, most: int) -> None:
    """Remove the least recently used files until `most` bytes are left; others may do the same at the same time."""
    for path in folder.glob(OUTDATED):
        with contextlib.suppress(OSError):
            path.unlink()
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob(CACHED):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= most:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            left -= size
