"""Plants on TCP for tests: simulated ones that misbehave, and separate programs."""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Self

import pytest

from vfpilco.plants.tcp import Timeouts

HELLO = {
    "type": "hello",
    "protocol": "vfpilco-plant",
    "version": 1,
    "positions": ["p", "alpha"],
    "inputs": ["force"],
    "limits": [10],
    "sampling_time": 1 / 30,
}
QUICK = Timeouts(connect=1.0, reset=1.0, step=0.4, stop=1.0)
SLACK = 2.0  # additional seconds that a loaded computer may take


class Listener:
    """Accepts connections on a free port, one after the other, in a thread of its own."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def _serve(self) -> None:
        while not self.ended.is_set():
            with contextlib.suppress(OSError):
                self.connection, _ = self.listener.accept()
                with self.connection:
                    self.connection.settimeout(10)
                    self.converse()

    def converse(self) -> None:
        """What is done with a connection."""
        raise NotImplementedError


class Peer(Listener):
    """A plant that answers correctly, except for the first request of type `on`, which `misbehave` answers."""

    def __init__(self, misbehave: Callable[[Peer, dict], None] | None = None, on: str = "step") -> None:
        super().__init__()
        self.misbehave, self.on = misbehave, on
        self.hello = dict(HELLO)
        self.received: list[list[dict]] = []
        """The requests of every connection."""

    def converse(self) -> None:
        self.received.append([])
        self.send(self.hello)
        for line in self.connection.makefile("rb"):
            request = json.loads(line)
            self.received[-1].append(request)
            if self.misbehave is not None and request["type"] == self.on:
                misbehave, self.misbehave = self.misbehave, None  # Only once.
                misbehave(self, request)
            else:
                self.answer(request)

    def answer(self, request: dict) -> None:
        """Answer correctly."""
        kind = {"stop": "stopped", "reset": "positions", "step": "positions"}.get(request["type"])
        if kind is not None:
            self.send({"type": kind, "id": request["id"], "positions": [0.5, float(request["id"])]})

    def send(self, message: dict | bytes) -> None:
        """Send a message as one line, or bytes unchanged."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.connection.sendall(data)


class Learner:
    """A learner that sends arbitrary messages."""

    def __init__(self, place: tuple[str, int]) -> None:
        self.connection = socket.create_connection(place, 10)
        self.lines = self.connection.makefile("rb")

    def __enter__(self) -> Learner:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.connection.close()

    def send(self, *messages: dict | bytes) -> None:
        for message in messages:
            self.connection.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def receive(self) -> dict | None:
        """The next message; None at the end of the connection."""
        line = self.lines.readline()
        return json.loads(line) if line else None


class Program:
    """A plant that runs as a separate program; its output is read as it arrives."""

    def __init__(self, command: list[str], port: int = 0) -> None:
        command = [*command, "--address", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.url = re.sub(r"^plant on ", "", self.wait_for("plant on", 60))

    def wait_for(self, words: str, seconds: float = 10) -> str:
        """Wait for the next line of output that contains `words`."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            line = b""
            while waiting.select(max(deadline - time.monotonic(), 0)):
                byte = self.process.stdout.read(1)
                assert byte, f"{words!r} was not printed: {self.process.communicate(timeout=10)}"
                line += byte
                if byte == b"\n":
                    if words in line.decode():
                        return line.decode().strip()
                    line = b""
        raise AssertionError(f"{words!r} was not printed within {seconds} s")

    @property
    def place(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("tcp://").split(":")
        return host, int(port)

    def end(self) -> tuple[int, bytes]:
        """End it with SIGTERM, and return its exit code and standard error."""
        self.process.terminate()
        try:
            _, errors = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, errors


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes longer."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The message, which must be printable, complete and not too long."""
    message = str(error.value)
    assert message.isprintable()
    assert message.endswith(".")
    assert len(message) < 600
    return message
