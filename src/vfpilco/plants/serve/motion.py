"""A machine that may move is stopped, whatever happens; signals wait until that is done."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

ATTEMPTS, PAUSE, GIVE_UP = 5, 0.1, 2.0  # To stop a machine: how often, with which pause, no more after so many seconds.
LONGEST_STOP = 10.0  # Seconds after which a signal interrupts even a stop, because it does not return.
SIGNALS, BY_HAND = ("SIGINT", "SIGTERM", "SIGHUP"), "STOP THE MACHINE BY HAND"


class Unstoppable(Exception):
    """The machine could not be stopped."""


def certainly(work: Callable[[], Any], afterwards: Callable[[], Any]) -> Any:
    """The result of `work`; `afterwards` runs however it ends, perhaps twice.

    One `finally` is not enough: an exception from outside, such as an interrupt, may hit its first instruction.
    """
    try:
        try:
            return work()
        finally:
            afterwards()
    finally:
        afterwards()


class Motion:
    """A machine that may move: whatever happens while it is driven, it is stopped afterwards.

    Signals that end programs interrupt the work; then they wait until the machine has been stopped.
    """

    def __init__(self, stop: Callable[[], Any]) -> None:
        self.stop_machine = stop
        self.moving = False  # Set before it can move, cleared after it was stopped.
        self.failure: Unstoppable | None = None
        self.interruption: BaseException | None = None  # What a signal has raised.
        self.stopping, self.raised = math.inf, -math.inf  # Since when it is being stopped; when a signal raised.
        self.handlers, self.pending = {}, []  # By signal what it did before; signals that wait.

    def drive(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, which moves the machine; `Unstoppable` if it could not be stopped afterwards."""

        def held() -> Any:
            self.hold_signals()
            return certainly(work, self.stop)

        return certainly(held, self.release_signals)

    def begin(self) -> None:
        """From now on it may move."""
        self.moving, self.failure = True, None

    def stop(self) -> None:
        """Stop the machine if it moves, with several attempts; signals wait until that is done."""
        begun, attempts = time.monotonic(), 0
        try:
            while self.moving and self.failure is None:
                self.stopping = begun
                try:
                    self.stop_machine()
                    self.moving = False
                except BaseException as error:  # Whatever it is: nothing is more important than the next attempt.
                    attempts += 1
                    if attempts == ATTEMPTS or time.monotonic() - begun > GIVE_UP:
                        self.failure = Unstoppable(f"{BY_HAND}: it could not be stopped ({described(error)})")
                        self.failure.__cause__ = error
                    time.sleep(PAUSE)
        finally:
            self.stopping = math.inf
        if self.failure is not None:
            raise self.failure

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if a signal has interrupted the work and the work has ignored that."""
        if self.interruption is not None:
            raise KeyboardInterrupt

    def hold_signals(self) -> None:
        """Receive signals from now on, if this is the main thread: only that one can."""
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):
                    self.handlers[number] = handler  # First: what is restored may not have been changed yet.
                    signal.signal(number, self.receive)

    def receive(self, number: int, frame: Any) -> None:
        """Interrupt the work, unless the machine is being stopped already, or is about to be."""
        now = time.monotonic()
        if 0 <= now - self.stopping < LONGEST_STOP or now - self.raised < PAUSE:
            self.pending.append(number)
            return
        self.raised = now
        try:
            if not callable(self.handlers[number]):  # It would end the program at once.
                self.pending.append(number)
                raise KeyboardInterrupt
            self.handlers[number](number, frame)
        except BaseException as error:
            self.interruption = error
            raise
        self.raised = -math.inf  # The program's own handler only took note of it.

    def honour_signals(self) -> None:
        """Do what the signals ask for that have been waiting."""
        for _ in range(len(self.pending)):
            number = self.pending.pop(0)
            if self.moving and not callable(signal.getsignal(number)):
                os.write(2, f"{BY_HAND}\n".encode())  # This is the last chance to say so.
            signal.raise_signal(number)

    def release_signals(self) -> None:
        """Let signals do what they did before."""
        for number in list(self.handlers):
            signal.signal(number, self.handlers[number])
            del self.handlers[number]
        self.honour_signals()


def described(error: BaseException) -> str:
    """The type and the message of an exception, which may fail to give one."""
    with contextlib.suppress(Exception):
        return f"{type(error).__name__}: {error}"
    return type(error).__name__
