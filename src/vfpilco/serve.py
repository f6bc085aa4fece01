"""Any object with `reset`, `step` and `stop` as a plant on TCP: the plant's side of docs/protocol.md.

This file needs nothing but Python 3.9: copy it beside your own where there is no room for the rest of the package.
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
except ModuleNotFoundError:  # A plant without NumPy is given its inputs as a list.
    vector = list

PROTOCOL, VERSION = "vfpilco-plant", 1
LONGEST = 4096  # bytes of a line, its end included
HELLO = 5.0  # seconds that a learner has to say who it is


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
    """Serve the plant until Ctrl-C, to one learner at a time.

    The plant is stopped when the learner says so, when it has gone, and when it sends no input for `patience` seconds
    in a trial. There is no password: an address that others can reach belongs on a network that you trust.
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
                server.attend(listener)
        finally:
            server.end("the plant's program ends")


class Refused(Exception):
    """What the learner asked for cannot be done; the message is its answer."""


class Server:
    """Speaks with one learner at a time, and sees to it that the plant never moves without one."""

    def __init__(self, plant: Any, hello: dict[str, Any], patience: float, say: Callable[[str], None]) -> None:
        self.plant, self.hello, self.patience, self.say = plant, hello, patience, say
        self.learner: socket.socket | None = None
        self.heard = b""
        self.greeted = self.moving = False
        self.deadline: float | None = None

    def attend(self, listener: socket.socket) -> None:
        """Wait for a line, for a learner or for the end of patience, and act on it."""
        waiting = None if self.deadline is None else max(self.deadline - time.monotonic(), 0)
        heard = [listener] if self.learner is None else [listener, self.learner]
        ready, _, _ = select.select(heard, [], [], waiting)
        if self.learner in ready:  # First, because that it has gone makes room for another one.
            self.listen()
        elif ready:
            with contextlib.suppress(OSError):  # It may have gone again.
                self.welcome(listener.accept()[0])
        # Whatever came: bytes without a complete input, and others that knock, do not lengthen patience.
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.refuse(f"no input for {self.patience:g} s" if self.greeted else f"no hello for {HELLO:g} s")

    def welcome(self, learner: socket.socket) -> None:
        """Say what the plant is; a second learner is sent away."""
        prepare(learner, self.patience)
        if self.learner is not None:
            with contextlib.suppress(OSError), learner:
                learner.sendall(encode({"error": "busy with another learner"}))
            return
        self.learner, self.heard, self.greeted, self.deadline = learner, b"", False, time.monotonic() + HELLO
        self.send(self.hello)

    def listen(self) -> None:
        """Take what the learner has said, and answer every complete line."""
        assert self.learner is not None
        try:
            said = self.learner.recv(LONGEST)
        except OSError:
            said = b""
        if not said:
            self.end("the learner has gone")
        self.heard += said
        while self.learner is not None and b"\n" in self.heard:
            line, _, self.heard = self.heard.partition(b"\n")
            self.handle(line)
        if self.learner is not None and len(self.heard) >= LONGEST:
            self.refuse(f"a line of more than {LONGEST} bytes")

    def handle(self, line: bytes) -> None:
        """Do what a line asks for, and say so; whatever goes wrong stops the plant and ends the connection."""
        try:
            self.obey(parse(line))
        except Refused as problem:
            self.refuse(str(problem))
        except Exception as error:  # of the plant's own
            self.refuse(f"{type(error).__name__}: {error}")

    def obey(self, request: dict[str, Any]) -> None:
        """Do what is asked."""
        kind, number = request.get("type"), request.get("id")
        if not self.greeted:
            if (kind, request.get("protocol"), request.get("version")) != ("hello", PROTOCOL, VERSION):
                raise Refused(f"the first line must be a hello of {PROTOCOL} version {VERSION}")
            self.greeted, self.deadline = True, None
        elif type(number) is not int:
            raise Refused("a request must have an id, a whole number")
        elif kind == "reset":
            self.moving, self.deadline = True, None
            self.tell(number, self.plant.reset(seed(request.get("seed"))))
        elif kind == "step":
            if not self.moving:
                raise Refused("a step needs a reset before it")
            self.tell(number, self.plant.step(vector(self.inputs(request.get("inputs")))))
        elif kind == "stop":
            self.plant.stop()
            self.moving, self.deadline = False, None
            self.send({"type": "stopped", "id": number})
        elif kind == "bye":
            self.end("the learner took leave")
        else:
            raise Refused("the type must be one of reset, step, stop, bye")

    def inputs(self, values: Any) -> list[float]:
        """The inputs of a step, refused where they are beyond their limits."""
        names, limits = self.hello["inputs"], self.hello["limits"]
        if not isinstance(values, list) or len(values) != len(names):
            raise Refused(f"a step needs {len(names)} inputs")
        for name, limit, value in zip(names, limits, values):  # noqa: B905 for old Pythons
            if type(value) not in (int, float) or not abs(value) <= limit:
                raise Refused(f"{name} must be a number within {limit:g}")
        return [float(value) for value in values]

    def tell(self, number: int, positions: Sequence[float]) -> None:
        """Answer with measured positions; from now on the learner has `patience` seconds for the next input."""
        values = [float(value) for value in positions]
        if len(values) != len(self.hello["positions"]) or not all(map(math.isfinite, values)):
            raise Refused(f"the plant measured {values}")
        self.send({"type": "positions", "id": number, "positions": values})
        self.deadline = time.monotonic() + self.patience if self.learner is not None else None

    def send(self, message: dict[str, Any]) -> None:
        """Say a line; a learner that does not take it has gone."""
        assert self.learner is not None
        try:
            self.learner.sendall(encode(message))
        except OSError:
            self.end("the learner has gone")

    def refuse(self, reason: str) -> None:
        """Stop the plant, say why, and end the connection."""
        self.rest()
        if self.learner is not None:
            with contextlib.suppress(OSError):
                self.learner.sendall(encode({"error": reason[:200]}))
                self.learner.shutdown(socket.SHUT_WR)
                self.learner.settimeout(0.1)  # Closed with lines unread, the reason might never arrive.
                self.learner.recv(LONGEST)
        self.end(reason)

    def end(self, reason: str) -> None:
        """Stop the plant if it moves, and end the connection."""
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
        # From the last sample on, not from now: delays must not add up. One that was missed is not caught up with.
        self.due = max(self.due + self.sampling_time, time.monotonic())
        time.sleep(max(self.due - time.monotonic(), 0))
        return positions

    def stop(self) -> None:
        self.plant.stop()


def prepare(learner: socket.socket, patience: float) -> None:
    """Lines go out at once, and a learner whose computer has lost power is noticed within half a minute."""
    learner.settimeout(patience)
    learner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    learner.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # not on every system
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
        raise Refused("a reset needs a seed, a whole number")
    return value


def encode(message: dict[str, Any]) -> bytes:
    """A line."""
    return json.dumps(message, allow_nan=False).encode() + b"\n"


def place(address: str) -> tuple[str, int]:
    """Host and port of `host:port`; a port alone is one of this computer, which no other one reaches."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"an address has the form host:port, got {address!r}")
    return host.strip("[]") or "127.0.0.1", int(port)
