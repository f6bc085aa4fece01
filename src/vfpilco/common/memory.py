"""How much memory this computer has left."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container finds its limit."""


def available_memory() -> int | None:
    """Bytes that a program can still use; None if the system does not say."""
    known = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        rows = Path("/proc/meminfo").read_text().splitlines()
        known += [1024 * int(row.split()[1]) for row in rows if row.startswith("MemAvailable:")]
    for limit in LIMITS:
        try:
            known.append(int(Path(limit).read_text()))
        except (OSError, ValueError):  # no container, or one without a limit
            continue
    with contextlib.suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(known, default=None)
