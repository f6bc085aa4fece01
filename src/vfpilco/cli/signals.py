"""Handlers for Ctrl-C and the signals that end programs: one line, and no traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from vfpilco.common import interrupts

STOPPED = 130
"""The exit code of a program that was stopped."""
ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that end programs."""
SOON = 0.5
"""Seconds after which a program that a signal should end, and that is still at work, says that it is stopping."""


def while_loading() -> None:
    """Exit at once: there is nothing to clean up yet, and an interrupt during imports would cause other errors."""
    _handle(_end)


def while_running() -> None:
    """Exit as on Ctrl-C: the plant is stopped, and everything recorded so far is kept."""
    _handle(_interrupt)
    _acknowledge()
    sys.unraisablehook = _unraisable


def when_done() -> None:
    """Ignore signals: everything is done, and Python is about to exit."""
    _handle(signal.SIG_IGN)


def _acknowledge() -> None:
    """Let another thread say that the program is stopping: the main one may be busy for long, as in a compilation.

    Python runs the handlers of signals between two instructions of the main thread only; their numbers arrive at once.
    """
    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def wait(sending: socket.socket) -> None:  # for ever, because as long as it waits the socket stays open
        due = True
        while received := ours.recv(1):
            if due and received[0] in numbers:
                due = False
                time.sleep(SOON)
                if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # not done yet
                    with contextlib.suppress(OSError):
                        os.write(2, b"\nvfpilco: stopping ...\n")

    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=wait, args=(theirs,), name="acknowledge", daemon=True).start()


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
