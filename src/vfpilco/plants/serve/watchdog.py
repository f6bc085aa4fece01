"""Stops a machine from another thread if a step, or anything else that is limited in time, does not return."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from .motion import BY_HAND, Motion, certainly

MOMENT, OFTEN = 0.05, 0.5
"""The shortest and the longest time between two looks at what is being done, in seconds."""
STOPPING = 1.0
"""Seconds that the other thread has to stop the machine before the work is interrupted."""
GRACE = 5.0
"""Seconds that interrupted work has to end before a message says that it does not."""
NEVER = ("", math.inf)


class Hung(Exception):
    """Something did not return in time."""


class WatchedMotion(Motion):
    """The motion of a machine; a thread watches that everything returns in time.

    If something does not, that thread stops the machine and then interrupts the work, with a signal that it sends to
    the main thread.
    """

    def __init__(
        self,
        stop: Callable[[], Any],
        seconds: dict[str, float],
        stop_aside: Callable[[], Any] | None = None,
    ) -> None:
        """Watch that everything named in `seconds` returns in time; `stop_aside` stops while something hangs."""
        super().__init__(stop)
        self.stop_aside, self.seconds = stop_aside or stop, seconds
        self.meanwhile: Callable[[str], Any] = lambda reason: None  # Called again and again while something hangs.
        self.doing = NEVER
        self.hung = ""  # What did not return.
        self.sent = self.reported = False  # Whether our signal is on its way, and whether the work knows of the hang.
        # Flags instead of locks: an exception from outside could leave a lock taken by the work for good.
        self.over = self.back = False  # Whether everything is done, and whether what hung has returned.
        self.acting = False  # Whether the other thread is about to declare a hang, or to send its signal.
        self.woken: queue.SimpleQueue[None] = queue.SimpleQueue()

    def expect(self, what: str) -> None:
        """From now on `what` is being done, one of the names in `seconds`, or something that may take any time."""
        self.doing = what, time.monotonic() + self.seconds.get(what, math.inf)

    def drive(self, work: Callable[[], Any]) -> Any:
        def watched() -> Any:
            if min(self.seconds.values(), default=math.inf) < math.inf:
                threading.Thread(target=self._watch, name="vfpilco watchdog", daemon=True).start()
            return super(WatchedMotion, self).drive(work)

        return certainly(watched, self._end)

    def stop(self) -> None:
        self.doing = NEVER  # A stop takes as long as it takes.
        super().stop()

    def check(self) -> None:
        super().check()
        if self.hung:
            self.reported = True
            raise Hung(self.hung)

    def recover(self) -> None:
        """Continue after something hung and the machine was stopped."""
        self.doing = NEVER
        self._await_thread()  # It declares no hang after this,
        self.back = True
        self._await_thread()  # and sends no signal after this.
        self.hung, self.reported = "", False

    def receive(self, number: int, frame: Any) -> None:
        if self.sent:  # It is ours. The work may have returned meanwhile, or the machine may be being stopped.
            self.sent = False
            if self.hung and not self.reported and self.stopping == math.inf:
                self.reported = True
                raise Hung(self.hung)
            return
        super().receive(number, frame)

    def release_signals(self) -> None:
        self._end()  # What is sent after this would reach the program's own handlers.
        super().release_signals()

    def _end(self) -> None:
        """Let the other thread end; it sends no signal after this."""
        self.over = True
        self.woken.put(None)
        self._await_thread()

    def _await_thread(self) -> None:
        """Wait until the other thread has seen what was changed."""
        while self.acting:
            time.sleep(1e-4)

    def _watch(self) -> None:
        while not self.over:
            with contextlib.suppress(queue.Empty):
                self.woken.get(timeout=min(max(self.doing[1] - time.monotonic(), MOMENT), OFTEN))
            what, deadline = self.doing
            if self.moving and time.monotonic() > deadline:
                self.acting = True
                if (what, deadline) == self.doing and not self.over:
                    self.back = False
                    self.hung = f"{what} did not return within {self.seconds[what]:.3g} s"
                self.acting = False
                if self.hung and not self.over:
                    self._intervene()

    def _intervene(self) -> None:
        """Stop the machine, interrupt the work, and report if that does not end it."""
        hung, stopped = self.hung, threading.Event()

        def stop() -> None:
            with contextlib.suppress(BaseException):  # The main thread stops the machine too, and reports if it cannot.
                self.stop_aside()
                stopped.set()

        thread = threading.Thread(target=stop, daemon=True)
        thread.start()
        thread.join(STOPPING)
        self.acting = True
        if self.handlers and not (self.back or self.over):
            self.sent = True
            signal.pthread_kill(threading.main_thread().ident or 0, next(iter(self.handlers)))
        self.acting = False
        time.sleep(MOMENT)
        deadline = time.monotonic() + GRACE
        while not (self.back or self.over):
            state = "the machine was stopped by another thread" if stopped.is_set() else BY_HAND
            self.meanwhile(f"{hung} and cannot be interrupted: {state}")
            if time.monotonic() > deadline:
                said = f"vfpilco: {hung} and cannot be interrupted: {state}. End it with: kill -9 {os.getpid()}\n"
                os.write(2, said.encode())
                deadline = math.inf
            time.sleep(MOMENT)
