"""Lines of JSON over a socket: every line is limited in length, has a deadline, and is validated."""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
import socket
import time
from typing import Any

LONGEST = 4096
"""The most bytes that a line may have, including its line feed."""

_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlong, _short.maxlist, _short.maxlevel = 160, 60, 40, 8, 3


class Broken(Exception):
    """The connection cannot be used any more.

    `did` says what the other side did (a predicate that follows its name in a sentence), `remedy` what to do.
    """

    def __init__(self, did: str, remedy: str) -> None:
        super().__init__(did)
        self.did, self.remedy = did, remedy


class Wire:
    """A connection that carries one JSON object per line, in both directions."""

    def __init__(self, connection: socket.socket) -> None:
        # Otherwise a line may wait for the acknowledgement of the previous one, which can take 40 ms.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.connection = connection
        self.buffer = b""

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Send one line; `TimeoutError` if the other side does not accept it before the deadline."""
        self.connection.settimeout(left(deadline))
        self.connection.sendall(json.dumps(message, allow_nan=False).encode() + b"\n")

    def receive(self, deadline: float) -> dict[str, Any]:
        """Receive one line; `TimeoutError` if it is not complete by the deadline, even if bytes keep arriving."""
        while b"\n" not in self.buffer[:LONGEST]:
            if len(self.buffer) >= LONGEST:
                raise Broken(f"sent a line of more than {LONGEST} bytes, {text(self.buffer)}", "send shorter lines")
            self.connection.settimeout(left(deadline))
            received = self.connection.recv(LONGEST)
            if not received:
                raise Broken("closed the connection", "check its output and start it again")
            self.buffer += received
        line, _, self.buffer = self.buffer.partition(b"\n")
        return parse(line)

    def is_quiet(self) -> bool:
        """Whether the connection is open and nothing unexpected has arrived on it."""
        if self.buffer:
            return False
        self.connection.settimeout(0)
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def shut(self) -> None:
        """End the connection, also for a thread that is waiting on it."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self.connection.close()


def left(deadline: float) -> float:
    """Seconds until the deadline; `TimeoutError` if it has passed."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object in a line."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Broken(f"sent {text(line)}, which is not a JSON object", "send one object per line, in UTF-8")
    return message


def _refuse(constant: str) -> None:
    """Reject NaN and Infinity, which Python accepts but JSON does not have."""
    raise ValueError(constant)


def number(value: Any) -> float | None:
    """A finite number as a float; None for anything else."""
    if type(value) not in (int, float):  # bool is a subclass of int.
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def shown(value: Any) -> str:
    """A value that the other side sent as text: shortened, with control characters escaped."""
    return _short.repr(value)


def text(line: bytes) -> str:
    """Bytes as printable text."""
    return shown(line[:LONGEST].decode(errors="backslashreplace"))
