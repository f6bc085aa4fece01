"""Handlers for Ctrl-C and the signals that end programs: one line, and no traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from vfpilco.common import interrupts

STOPPED = 130
"""The exit code of a program that was stopped."""
ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that end programs."""


def while_loading() -> None:
    """Exit at once: there is nothing to clean up yet, and an interrupt during imports would cause other errors."""
    _handle(_end)


def while_running() -> None:
    """Exit as on Ctrl-C: the plant is stopped, and everything recorded so far is kept."""
    _handle(_interrupt)
    sys.unraisablehook = _unraisable


def when_done() -> None:
    """Ignore signals: everything is done, and Python is about to exit."""
    _handle(signal.SIG_IGN)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or in the background
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"vfpilco: stopped.\n")
    os._exit(STOPPED)


def _interrupt(number: int, _: FrameType | None) -> None:
    again = interrupts.requested()
    interrupts.request()
    if number == signal.SIGINT or not again:  # Only a second Ctrl-C must get through.
        raise KeyboardInterrupt


def _unraisable(ignored: Any) -> None:
    """Repeat an interrupt a moment later if it occurred where Python ignores exceptions, as in garbage collection."""
    if issubclass(ignored.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _repeat)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(ignored)


def _repeat(number: int, frame: FrameType | None) -> None:
    """Interrupt the way that Ctrl-C does at this moment: while a machine is being stopped it has to wait."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else _interrupt)(signal.SIGINT, frame)
