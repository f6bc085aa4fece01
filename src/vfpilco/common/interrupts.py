"""Requests to stop, as by Ctrl-C, that long computations check between their parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_requested = False
_here = threading.local()
_listeners: list[Callable[[], None]] = []


def request() -> None:
    """Ask this process to stop; every later `check` raises."""
    global _requested
    _requested = True


def requested() -> bool:
    """Whether a stop was requested."""
    return _requested


def check() -> None:
    """Raise `KeyboardInterrupt` if a stop was requested, of this process or of the work of this thread.

    A library that calls Python from C may swallow the original interrupt.
    """
    stop: threading.Event | None = getattr(_here, "stop", None)
    if _requested or (stop is not None and stop.is_set()):
        raise KeyboardInterrupt


@contextmanager
def stopped_by(stop: threading.Event) -> Iterator[None]:
    """Let `check` in this thread raise also when `stop` is set."""
    _here.stop = stop
    try:
        yield
    finally:
        del _here.stop


@contextmanager
def announced(listener: Callable[[], None]) -> Iterator[None]:
    """Calls `listener` when work is being stopped that takes a moment to end."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce() -> None:
    """Let all listeners know that work is being stopped."""
    for listener in list(_listeners):
        listener()
