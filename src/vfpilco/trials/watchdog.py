"""Stops the machine from another thread if a step, or anything else in a trial, does not return."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from vfpilco.plants.serve import BY_HAND, Motion, certainly
from vfpilco.tasks.plant import Plant, StopsAside
from vfpilco.tasks.realtime import RealTime

MOMENT, OFTEN = 0.05, 0.5
"""The shortest and the longest time between two looks at the trial, in seconds."""
STOPPING = 1.0
"""Seconds that the other thread has to stop the machine before the trial is interrupted."""
GRACE = 5.0
"""Seconds that an interrupted trial has to end before a message says that it does not."""
NEVER = ("", math.inf)


class Hung(Exception):
    """Something in a trial did not return in time."""


class WatchedMotion(Motion):
    """The motion of a machine in a trial; in real time a thread watches that everything returns in time.

    If something does not, that thread stops the machine and then interrupts the trial, with a signal that it sends to
    the main thread.
    """

    def __init__(self, plant: Plant, rules: RealTime | None, sampling_time: float) -> None:
        super().__init__(plant.stop)
        self.stop_aside = plant.stop_aside if isinstance(plant, StopsAside) else plant.stop
        step = math.inf if rules is None else sampling_time + rules.step_timeout
        self.seconds = {"reset": math.inf if rules is None else rules.reset_timeout, "step": step, "controller": step}
        self.watching = rules is not None
        self.doing = NEVER
        self.hung = ""
        self.reported = False
        self.over, self.sending = threading.Event(), threading.Lock()

    def expect(self, what: str) -> None:
        """From now on `what` is being done: "reset", "step" or "controller"."""
        self.doing = what, time.monotonic() + self.seconds[what]

    def drive(self, work: Callable[[], Any]) -> Any:
        def watched() -> Any:
            if self.watching:
                threading.Thread(target=self._watch, name="vfpilco watchdog", daemon=True).start()
            return super(WatchedMotion, self).drive(work)

        return certainly(watched, self.over.set)

    def check(self) -> None:
        super().check()
        if self.hung:
            raise Hung

    def receive(self, number: int, frame: Any) -> None:
        if self.hung and not self.reported and self.stopping == math.inf:
            self.reported = True
            raise Hung
        super().receive(number, frame)

    def release_signals(self) -> None:
        with self.sending:  # What is sent after this would reach the program's own handlers.
            self.over.set()
        super().release_signals()

    def _watch(self) -> None:
        while not self.over.wait(min(max(self.doing[1] - time.monotonic(), MOMENT), OFTEN)):
            what, deadline = self.doing
            if self.moving and time.monotonic() > deadline:
                self.hung = f"{what} did not return within {self.seconds[what]:.3g} s"
                return self._intervene()

    def _intervene(self) -> None:
        """Stop the machine, interrupt the trial, and report if that does not end it."""
        stopped = threading.Event()

        def stop() -> None:
            with contextlib.suppress(BaseException):  # The trial stops the machine too, and reports if it cannot.
                self.stop_aside()
                stopped.set()

        thread = threading.Thread(target=stop, daemon=True)
        thread.start()
        thread.join(STOPPING)
        with self.sending:
            if self.handlers and not self.over.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, next(iter(self.handlers)))
        if not self.over.wait(GRACE):
            state = "The machine was stopped by another thread" if stopped.is_set() else BY_HAND
            said = f"vfpilco: {self.hung} and cannot be interrupted. {state}. End it with: kill -9 {os.getpid()}\n"
            os.write(2, said.encode())
