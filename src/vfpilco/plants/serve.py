"""Serves any object with `reset`, `step` and `stop` as a plant over TCP.

The protocol is described in docs/reference/protocol.md; this is the side of the plant.

This file needs only Python 3.9 and its standard library: on a computer where the package cannot be installed, copy it
next to your own file.
"""

from __future__ import annotations

import contextlib
import json
import math
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

try:
    from numpy import array as vector
except ModuleNotFoundError:  # Without NumPy a plant receives its inputs as a list.
    vector = list

PROTOCOL, VERSION = "vfpilco-plant", 1
LONGEST = 4096  # The most bytes that a line may have, including its line feed.
HELLO = 5.0  # Seconds that a learner has to send its hello.


def serve(
    plant: Any,
    *,
    positions: Sequence[str],
    inputs: Sequence[str],
    limits: Sequence[float],
    sampling_time: float,
    address: str = "127.0.0.1:5555",
    patience: float = 1.0,
    say: Callable[[str], None] = lambda line: print(line, flush=True),
) -> None:
    """Serve a plant until Ctrl-C, to one learner at a time.

    The plant is stopped when the learner asks for it, when the learner disconnects, and when no input arrives for
    `patience` seconds during a trial. There is no password: use an address that others can reach only on a network
    that you trust.

    Args:
        plant: Any object with the methods `reset(seed)`, `step(u)` and `stop()`.
        positions: The names of the positions, in order.
        inputs: The names of the inputs, in order.
        limits: The largest magnitude of every input; larger inputs are refused.
        sampling_time: Seconds between samples.
        address: `host:port` to listen on; port 0 takes a free one.
        patience: Seconds without an input during a trial after which the plant is stopped.
        say: Called with every line of output, the first of which has the address.

    Raises:
        ValueError: If the address is invalid.
        OSError: If it cannot be listened on.

    Example:
        >>> serve(  # doctest: +SKIP
        ...     Rig(), positions=["angle"], inputs=["voltage"], limits=[10.0], sampling_time=0.02
        ... )
    """
    hello = {"type": "hello", "protocol": PROTOCOL, "version": VERSION, "positions": list(positions)}
    hello |= {"inputs": list(inputs), "limits": [float(u) for u in limits], "sampling_time": float(sampling_time)}
    host, port = place(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        say(f"plant on tcp://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        server = Server(plant, hello, patience, say)
        try:
            while True:
                server.serve_next(listener)
        finally:
            server.end("the plant's program ends")


class Refused(Exception):
    """A request cannot be fulfilled; the message is sent to the learner."""


class Server:
    """Serves one learner at a time, and makes sure that the plant never moves without one."""

    def __init__(self, plant: Any, hello: dict[str, Any], patience: float, say: Callable[[str], None]) -> None:
        self.plant, self.hello, self.patience, self.say = plant, hello, patience, say
        self.learner: socket.socket | None = None
        self.buffer = b""
        self.greeted = self.moving = False
        self.deadline: float | None = None

    def serve_next(self, listener: socket.socket) -> None:
        """Wait for data, for a learner or for the deadline, and handle it."""
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
        except Refused as problem:
            self.refuse(str(problem))
        except Exception as error:  # raised by the plant
            self.refuse(f"{type(error).__name__}: {error}")

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
            self.moving, self.deadline = True, None
            self.answer(number, self.plant.reset(seed(request.get("seed"))))
        elif kind == "step":
            if not self.moving:
                raise Refused("a step needs a reset before it")
            self.answer(number, self.plant.step(vector(self.inputs(request.get("inputs")))))
        elif kind == "stop":
            self.plant.stop()
            self.moving, self.deadline = False, None
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
        if not self.moving:
            return
        self.moving = False
        try:
            self.plant.stop()
        except Exception as error:
            self.say(f"THE PLANT COULD NOT BE STOPPED ({type(error).__name__}: {error}): stop it by hand")
        else:
            self.say("plant stopped")


class Paced:
    """A simulated plant that takes as long for a step as a real one."""

    def __init__(self, plant: Any, sampling_time: float) -> None:
        self.plant, self.sampling_time, self.due = plant, sampling_time, 0.0

    def reset(self, seed: int) -> Sequence[float]:
        positions = self.plant.reset(seed)
        self.due = time.monotonic()
        return positions

    def step(self, u: Sequence[float]) -> Sequence[float]:
        positions = self.plant.step(u)
        # Counted from the last sample, so that delays do not add up; but a missed sample is not caught up with.
        self.due = max(self.due + self.sampling_time, time.monotonic())
        time.sleep(max(self.due - time.monotonic(), 0))
        return positions

    def stop(self) -> None:
        self.plant.stop()


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
    try:
        request = json.loads(line.decode())
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        raise Refused("a line must be one JSON object in UTF-8")
    return request


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
