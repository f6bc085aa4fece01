"""Ctrl-C and the signals that end programs: one line, and no traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

STOPPED = 130
"""The exit code of a program that was stopped."""

_asked = False
"""Whether this program was asked to stop while it ran."""


def while_loading() -> None:
    """End at once: there is nothing to clean up yet, and packages being loaded make other errors of an interrupt."""
    _handle(_end)


def while_running() -> None:
    """End as on Ctrl-C: the plant is stopped and what there is is kept."""
    _handle(_interrupt)
    sys.unraisablehook = _unraisable


def heed() -> None:
    """Stop if that was asked for and is not happening; long work says this between its parts.

    A library that calls Python from C may drop the interrupt without a word.
    """
    if _asked:
        raise KeyboardInterrupt


def when_done() -> None:
    """Nothing is left to stop: Python may end in peace."""
    _handle(signal.SIG_IGN)


def is_program() -> bool:
    """Whether this process is the command line and not a program that uses the package."""
    return os.path.basename(sys.argv[0]) == "vfpilco" or (sys.argv[0] == "-m" and "vfpilco" in sys.orig_argv[:5])


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or in the background
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"vfpilco: stopped.\n")
    os._exit(STOPPED)


def _interrupt(number: int, _: FrameType | None) -> None:
    global _asked
    _asked = True
    if number != signal.SIGINT:  # A second Ctrl-C is to be heard.
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unraisable(ignored: Any) -> None:
    """An interrupt where Python ignores exceptions, as while it tidies up memory, comes again a moment later."""
    if issubclass(ignored.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(ignored)
