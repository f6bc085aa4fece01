"""One line of JSON at a time over a socket: bounded in length, by a deadline, and no word taken on trust."""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
import socket
import time
from typing import Any

LONGEST = 4096
"""Bytes that a line may have, its end included."""

_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlong, _short.maxlist, _short.maxlevel = 160, 60, 40, 8, 3


class Broken(Exception):
    """The other side cannot be talked to any more: what it did, to follow its name in a sentence, and what to do."""

    def __init__(self, did: str, remedy: str) -> None:
        super().__init__(did)
        self.did, self.remedy = did, remedy


class Wire:
    """A connection on which both sides say one line at a time."""

    def __init__(self, connection: socket.socket) -> None:
        # Otherwise a line may wait for the acknowledgement of the one before it, which can take 40 ms.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.connection = connection
        self.kept = b""

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Say one line; `TimeoutError` where the other side does not take it by the deadline."""
        self.connection.settimeout(left(deadline))
        self.connection.sendall(json.dumps(message, allow_nan=False).encode() + b"\n")

    def receive(self, deadline: float) -> dict[str, Any]:
        """Hear one line; `TimeoutError` where it is not complete by the deadline, however steadily it drips."""
        while b"\n" not in self.kept[:LONGEST]:
            if len(self.kept) >= LONGEST:
                raise Broken(f"sent a line of more than {LONGEST} bytes, {text(self.kept)}", "end lines sooner")
            self.connection.settimeout(left(deadline))
            got = self.connection.recv(LONGEST)
            if not got:
                raise Broken("closed the connection", "look at what it says and start it again")
            self.kept += got
        line, _, self.kept = self.kept.partition(b"\n")
        return parse(line)

    def is_quiet(self) -> bool:
        """Whether the connection stands and nothing has been said on it without being asked."""
        if self.kept:
            return False
        self.connection.settimeout(0)
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self.connection.close()


def left(deadline: float) -> float:
    """Seconds until the deadline, more than zero."""
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
        raise Broken(f"sent {text(line)}, which is no JSON object", "send one object per line, in UTF-8")
    return message


def _refuse(constant: str) -> None:
    """NaN and Infinity are Python's own, not JSON."""
    raise ValueError(constant)


def number(value: Any) -> float | None:
    """A finite number as float; none where it is something else."""
    if type(value) not in (int, float):  # True is an int as well.
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def shown(value: Any) -> str:
    """What the other side sent, shortened and without characters that a terminal would act on."""
    return _short.repr(value)


def text(line: bytes) -> str:
    """Bytes as they can be shown."""
    return shown(line[:LONGEST].decode(errors="backslashreplace"))
