"""Requests to stop, as by Ctrl-C, that long computations check between their parts."""

from __future__ import annotations

_requested = False


def request() -> None:
    """Ask this process to stop; every later `check` raises."""
    global _requested
    _requested = True


def requested() -> bool:
    """Whether a stop was requested."""
    return _requested


def check() -> None:
    """Raise `KeyboardInterrupt` if a stop was requested.

    A library that calls Python from C may swallow the original interrupt.
    """
    if _requested:
        raise KeyboardInterrupt
