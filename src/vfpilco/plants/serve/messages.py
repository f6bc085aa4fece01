"""The lines that a plant on TCP and its learner exchange, on the plant's side."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

PROTOCOL, VERSION = "vfpilco-plant", 1
LONGEST, HELLO = 4096, 5.0  # The most bytes of a line with its line feed; seconds that a learner has for its hello.


class Refused(Exception):
    """A request cannot be fulfilled; the message is sent to the learner."""


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
