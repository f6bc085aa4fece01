"""A server for one learner at a time: what it does with every line that it receives."""

from __future__ import annotations

import contextlib
import math
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .messages import HELLO, LONGEST, PROTOCOL, VERSION, Refused, encode, parse, prepare, seed
from .motion import Unstoppable, described
from .watchdog import Hung, WatchedMotion

try:
    from numpy import array as vector
except ModuleNotFoundError:  # Without NumPy a plant receives its inputs as a list.
    vector = list

LOOK = 0.5
"""The longest wait in seconds: a signal that another thread received, or that came just before, interrupts no wait."""


@dataclass(frozen=True)
class Rules:
    """What a server allows, in seconds."""

    patience: float
    """The longest time without an input during a trial."""
    realtime: bool
    """Whether every step takes a sampling time."""
    seconds: dict[str, float]
    """The longest time that the methods of the plant may take, by their names."""


class Server:
    """Serves one learner at a time; the plant never moves without one."""

    def __init__(
        self, listener: socket.socket, plant: Any, hello: dict[str, Any], rules: Rules, say: Callable[[str], None]
    ) -> None:
        self.listener, self.plant, self.hello, self.rules, self.say = listener, plant, hello, rules, say
        listener.setblocking(False)  # Another thread may be faster to accept a learner.
        self.motion = WatchedMotion(plant.stop, rules.seconds, getattr(plant, "stop_aside", None))
        self.motion.meanwhile = self.inform
        self.learner: socket.socket | None = None
        self.deadline: float | None = None
        self.buffer, self.greeted = b"", False

    def serve_next(self) -> None:
        """Wait for data, for a learner or for the deadline, and handle it; a plant that hung is stopped."""
        try:
            self.motion.check()
            self.handle_next()
        except Hung as problem:  # The signal may arrive a moment after the plant has returned.
            self.motion.recover()
            self.refuse(str(problem))

    def handle_next(self) -> None:
        """Wait for data, for a learner or for the deadline, and handle it."""
        listener = self.listener
        waiting = LOOK if self.deadline is None else min(max(self.deadline - time.monotonic(), 0), LOOK)
        sockets = [listener] if self.learner is None else [listener, self.learner]
        ready, _, _ = select.select(sockets, [], [], waiting)
        if self.learner in ready:  # First: if it has disconnected, another one can connect.
            self.receive()
        elif ready:
            with contextlib.suppress(OSError):  # It may have disconnected already.
                self.welcome(listener.accept()[0])
        # Checked in any case: incomplete lines and other learners that connect do not postpone the deadline.
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.refuse(f"no input for {self.rules.patience:g} s" if self.greeted else f"no hello for {HELLO:g} s")

    def welcome(self, learner: socket.socket) -> None:
        """Announce the plant to a new learner; a second learner is refused."""
        prepare(learner, self.rules.patience)
        if self.learner is not None:
            with contextlib.suppress(OSError), learner:
                learner.sendall(encode({"error": "busy with another learner"}))
            return
        self.learner, self.buffer, self.greeted, self.deadline = learner, b"", False, time.monotonic() + HELLO
        self.send(self.hello)

    def receive(self) -> None:
        """Receive data from the learner, and handle every complete line."""
        assert self.learner is not None
        try:
            received = self.learner.recv(LONGEST)
        except OSError:
            received = b""
        if not received:
            self.end("the learner has disconnected")
        self.buffer += received
        while self.learner is not None and b"\n" in self.buffer:
            line, _, self.buffer = self.buffer.partition(b"\n")
            self.handle(line)
        if self.learner is not None and len(self.buffer) >= LONGEST:
            self.refuse(f"a line of more than {LONGEST} bytes")

    def handle(self, line: bytes) -> None:
        """Fulfil the request in a line; any error stops the plant and closes the connection."""
        try:
            self.fulfil(parse(line))
        except BaseException as error:  # of any kind: it may come from the plant
            if isinstance(error, (KeyboardInterrupt, Hung)) or error is self.motion.interruption:
                raise
            self.refuse(str(error) if isinstance(error, Refused) else described(error))

    def fulfil(self, request: dict[str, Any]) -> None:
        """Do what a request asks for, and answer it."""
        kind, number = request.get("type"), request.get("id")
        if not self.greeted:
            if (kind, request.get("protocol"), request.get("version")) != ("hello", PROTOCOL, VERSION):
                raise Refused(f"the first line must be a hello of {PROTOCOL} version {VERSION}")
            self.greeted, self.deadline = True, None
        elif type(number) is not int:
            raise Refused("a request must have an id, an integer")
        elif kind == "reset":
            self.motion.begin()
            self.deadline = None
            positions = self.call("reset", seed(request.get("seed")))
            self.due = time.monotonic()
            self.answer(number, positions)
        elif kind == "step":
            if not self.motion.moving:
                raise Refused("a step needs a reset before it")
            positions = self.call("step", vector(self.inputs(request.get("inputs"))))
            if self.rules.realtime:  # Counted from the last sample, so that delays do not add up.
                self.due = max(self.due + self.hello["sampling_time"], time.monotonic())
                time.sleep(max(self.due - time.monotonic(), 0))
            self.answer(number, positions)
        elif kind == "stop":
            self.stop()
            self.deadline = None
            self.send({"type": "stopped", "id": number})
        elif kind == "bye":
            self.end("the learner said bye")
        else:
            raise Refused("the type must be one of reset, step, stop, bye")

    def call(self, method: str, value: Any) -> Any:
        """The result of a method of the plant; `Hung` if it did not return in time."""
        self.motion.expect(method)
        measured = getattr(self.plant, method)(value)
        self.motion.expect("the learner")
        self.motion.check()
        return measured

    def inputs(self, values: Any) -> list[float]:
        """The inputs of a step; refused if they exceed their limits."""
        names, limits = self.hello["inputs"], self.hello["limits"]
        if not isinstance(values, list) or len(values) != len(names):
            raise Refused(f"a step needs {len(names)} inputs")
        for name, limit, value in zip(names, limits, values):  # noqa: B905 for old Pythons
            if type(value) not in (int, float) or not abs(value) <= limit:
                raise Refused(f"{name} must be a number between {-limit:g} and {limit:g}")
        return [float(value) for value in values]

    def answer(self, number: int, positions: Sequence[float]) -> None:
        """Answer with measured positions; the learner then has `patience` seconds for the next input."""
        values = [float(value) for value in positions]
        if len(values) != len(self.hello["positions"]) or not all(map(math.isfinite, values)):
            raise Refused(f"the plant measured {values}")
        self.send({"type": "positions", "id": number, "positions": values})
        self.deadline = time.monotonic() + self.rules.patience if self.learner is not None else None

    def send(self, message: dict[str, Any]) -> None:
        """Send a line; a learner that does not accept it counts as disconnected."""
        assert self.learner is not None
        try:
            self.learner.sendall(encode(message))
        except OSError:
            self.end("the learner has disconnected")

    def refuse(self, reason: str) -> None:
        """Stop the plant, send the reason, and close the connection."""
        self.rest()
        if self.learner is not None:
            with contextlib.suppress(OSError):
                self.learner.sendall(encode({"error": reason[:200]}))
                self.learner.shutdown(socket.SHUT_WR)
                self.learner.settimeout(0.1)  # If lines were left unread, the reason might not arrive.
                self.learner.recv(LONGEST)
        self.end(reason)

    def inform(self, reason: str) -> None:
        """Inform the learner, and others that connect, that the plant hangs; called by another thread."""
        learner, line = self.learner, encode({"error": reason})
        with contextlib.suppress(OSError):
            if learner is not None:
                learner.sendall(line)
                learner.shutdown(socket.SHUT_WR)  # Once: then sending fails.
        with contextlib.suppress(OSError), self.listener.accept()[0] as other:
            other.settimeout(0.1)
            other.sendall(line)

    def end(self, reason: str) -> None:
        """Stop the plant if it moves, and close the connection."""
        self.rest()
        if self.learner is not None:
            self.learner.close()
            self.say(f"connection ended: {ascii(reason)[1:-1]}")
        self.learner, self.deadline = None, None

    def rest(self) -> None:
        """Stop the plant if it moves."""
        with contextlib.suppress(Unstoppable):
            if self.motion.moving:
                self.stop()
                self.say("plant stopped")

    def stop(self) -> None:
        """Stop the plant, also if it does not move; then do what signals ask for that arrived meanwhile."""
        self.motion.begin()
        try:
            self.motion.stop()
        except Unstoppable as problem:
            self.say(str(problem))
            raise
        finally:
            self.motion.honour_signals()
