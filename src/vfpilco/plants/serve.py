"""Serves any object with `reset`, `step` and `stop` as a plant over TCP.

The protocol is described in docs/reference/protocol.md; this is the side of the plant. The file needs only Python 3.9
and its standard library: on a computer where the package cannot be installed, copy it next to your own file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

try:
    from numpy import array as vector
except ModuleNotFoundError:  # Without NumPy a plant receives its inputs as a list.
    vector = list

PROTOCOL, VERSION = "vfpilco-plant", 1
LONGEST, HELLO = 4096, 5.0  # The most bytes of a line with its line feed; seconds that a learner has for its hello.
ATTEMPTS, PAUSE, GIVE_UP = 5, 0.1, 2.0  # To stop a machine: how often, with which pause, no more after so many seconds.
LONGEST_STOP = 10.0  # Seconds after which a signal interrupts even a stop, because it does not return.
SIGNALS, BY_HAND = ("SIGINT", "SIGTERM", "SIGHUP"), "STOP THE MACHINE BY HAND"


def serve(
    plant: Any,
    *,
    positions: Sequence[str],
    inputs: Sequence[str],
    limits: Sequence[float],
    sampling_time: float,
    address: str = "127.0.0.1:5555",
    patience: float = 1.0,
    realtime: bool = False,
    say: Callable[[str], None] = lambda line: print(line, flush=True),
) -> None:
    """Serve a plant until Ctrl-C, to one learner at a time.

    The plant is stopped when the learner asks for it or disconnects, when no input arrives for `patience` seconds in a
    trial, and when the program ends. There is no password: let others reach the address only on a network you trust.

    Args:
        plant: Any object with the methods `reset(seed)`, `step(u)` and `stop()`.
        positions: The names of the positions, in order.
        inputs: The names of the inputs, in order.
        limits: The largest magnitude of every input; larger inputs are refused.
        sampling_time: Seconds between samples.
        address: `host:port` to listen on; port 0 takes a free one.
        patience: Seconds without an input during a trial after which the plant is stopped.
        realtime: Let every step take a sampling time: for a simulated plant, which does not wait by itself.
        say: Called with every line of output, the first of which has the address.

    Raises:
        ValueError: If the address is invalid.
        OSError: If it cannot be listened on.
        Unstoppable: If the plant could not be stopped at the end.

    Example:
        >>> serve(Rig(), positions=["q"], inputs=["u"], limits=[10.0], sampling_time=0.02)  # doctest: +SKIP
    """
    hello = {"type": "hello", "protocol": PROTOCOL, "version": VERSION, "positions": list(positions)}
    hello |= {"inputs": list(inputs), "limits": [float(u) for u in limits], "sampling_time": float(sampling_time)}
    host, port = place(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        say(f"plant on tcp://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        server = Server(plant, hello, patience, realtime, say)

        def work() -> None:
            while True:
                server.serve_next(listener)

        server.motion.drive(lambda: certainly(work, lambda: server.end("the plant's program ends")))


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


class Refused(Exception):
    """A request cannot be fulfilled; the message is sent to the learner."""


class Server:
    """Serves one learner at a time; the plant never moves without one."""

    def __init__(
        self, plant: Any, hello: dict[str, Any], patience: float, realtime: bool, say: Callable[[str], None]
    ) -> None:
        self.plant, self.hello, self.patience, self.realtime, self.say = plant, hello, patience, realtime, say
        self.motion = Motion(plant.stop)
        self.learner: socket.socket | None = None
        self.deadline: float | None = None
        self.buffer, self.greeted = b"", False

    def serve_next(self, listener: socket.socket) -> None:
        """Wait for data, for a learner or for the deadline, and handle it."""
        self.motion.check()
        waiting = None if self.deadline is None else max(self.deadline - time.monotonic(), 0)
        sockets = [listener] if self.learner is None else [listener, self.learner]
        ready, _, _ = select.select(sockets, [], [], waiting)
        if self.learner in ready:  # First: if it has disconnected, another one can connect.
            self.receive()
        elif ready:
            with contextlib.suppress(OSError):  # It may have disconnected already.
                self.welcome(listener.accept()[0])
        # Checked in any case: incomplete lines and other learners that connect do not postpone the deadline.
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.refuse(f"no input for {self.patience:g} s" if self.greeted else f"no hello for {HELLO:g} s")

    def welcome(self, learner: socket.socket) -> None:
        """Announce the plant to a new learner; a second learner is refused."""
        prepare(learner, self.patience)
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
            if isinstance(error, KeyboardInterrupt) or error is self.motion.interruption:
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
            positions = self.plant.reset(seed(request.get("seed")))
            self.due = time.monotonic()
            self.answer(number, positions)
        elif kind == "step":
            if not self.motion.moving:
                raise Refused("a step needs a reset before it")
            positions = self.plant.step(vector(self.inputs(request.get("inputs"))))
            if self.realtime:  # Counted from the last sample, so that delays do not add up.
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
        self.deadline = time.monotonic() + self.patience if self.learner is not None else None

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
        self.motion.honour_signals()


def prepare(learner: socket.socket, patience: float) -> None:
    """Send lines without delay, and notice within half a minute that a learner's computer has lost power."""
    learner.settimeout(patience)
    learner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    learner.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # not available on every system
            learner.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object in a line."""
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(line.decode())
        if isinstance(request, dict):
            return request
    raise Refused("a line must be one JSON object in UTF-8")


def seed(value: Any) -> int:
    """The seed of a reset."""
    if type(value) is not int or not 0 <= value < 2**53:
        raise Refused("a reset needs a seed, an integer")
    return value


def encode(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message, allow_nan=False).encode() + b"\n"


def place(address: str) -> tuple[str, int]:
    """Host and port of `host:port`; a port alone is one that only this computer can reach."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"an address has the form host:port, got {address!r}")
    return host.strip("[]") or "127.0.0.1", int(port)
