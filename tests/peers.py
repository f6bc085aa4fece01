"""Plants on TCP for tests: made-up ones that misbehave, and programs."""

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

HELLO = {
    "type": "hello",
    "protocol": "vfpilco-plant",
    "version": 1,
    "positions": ["p", "alpha"],
    "inputs": ["force"],
    "limits": [10],
    "sampling_time": 1 / 30,
}


class Peer:
    """A plant that answers as it should, until `misbehave` is called with the connection and a request of its kind."""

    def __init__(self, misbehave: Callable[[Peer, dict], None] | None = None, on: str = "step") -> None:
        self.misbehave, self.on = misbehave, on
        self.hello = dict(HELLO)
        self.heard: list[list[dict]] = []
        """The requests of every connection."""
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Peer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def _serve(self) -> None:
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                self.connection, _ = self.listener.accept()
                with self.connection:
                    self._speak()

    def _speak(self) -> None:
        self.connection.settimeout(10)
        self.heard.append([])
        self.send(self.hello)
        for line in self.connection.makefile("rb"):
            request = json.loads(line)
            self.heard[-1].append(request)
            if self.misbehave is not None and request["type"] == self.on:
                misbehave, self.misbehave = self.misbehave, None  # Once: afterwards it is mended.
                misbehave(self, request)
            else:
                self.answer(request)

    def answer(self, request: dict) -> None:
        """What a good plant says."""
        kind = {"stop": "stopped", "reset": "positions", "step": "positions"}.get(request["type"])
        if kind is not None:
            self.send({"type": kind, "id": request["id"], "positions": [0.5, float(request["id"])]})

    def send(self, message: dict | bytes) -> None:
        """One line, or bytes as they are."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.connection.sendall(data)


class Program:
    """A plant that runs as a program of its own; what it prints is read as it comes."""

    def __init__(self, command: list[str], port: int = 0) -> None:
        command = [*command, "--address", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.url = re.sub(r"^plant on ", "", self.says("plant on", 60))

    def says(self, words: str, seconds: float = 10) -> str:
        """The next line that has these words in it."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            line = b""
            while waiting.select(max(deadline - time.monotonic(), 0)):
                got = self.process.stdout.read(1)
                assert got, f"{words!r} was not said: {self.process.communicate(timeout=10)}"
                line += got
                if got == b"\n":
                    if words in line.decode():
                        return line.decode().strip()
                    line = b""
        raise AssertionError(f"{words!r} was not said within {seconds} s")

    @property
    def place(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("tcp://").split(":")
        return host, int(port)

    def end(self) -> tuple[int, bytes]:
        """Its exit code after SIGTERM, and what it said on standard error."""
        self.process.terminate()
        try:
            _, said = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, said


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What is inside must not take longer."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds
