"""Hostile lines for both sides of the plant protocol, and the peers that send them."""

from __future__ import annotations

import contextlib
import json
import queue
import random
import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from mutation import tree
from peers import HELLO as ANNOUNCEMENT
from peers import Learner, Listener

from vfpilco.common.errors import UserError
from vfpilco.plants.serve import serve
from vfpilco.plants.tcp import RemotePlant, Timeouts

HELLO = {"type": "hello", "protocol": "vfpilco-plant", "version": 1}
RESET = {"type": "reset", "id": 1, "seed": 3}
STEP = {"type": "step", "id": 2, "inputs": [1.0]}
REQUESTS: list[Any] = [HELLO, RESET, STEP, {"type": "stop", "id": 3}, {"type": "bye", "id": 4}]
LIMIT = 10.0
QUICK = Timeouts(connect=5, reset=5, step=5, stop=5)


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def mutated(message: Any, rng: random.Random) -> bytes:
    """A line with hostile content, or with damaged bytes."""
    kind = rng.random()
    if kind < 0.5:
        return line(tree(message, rng, []))
    data = bytearray(line(message))
    if kind < 0.75:
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(len(data))] = rng.choice(b'{}[]",:\\\n\x00\xff09-.eE u\x1b')
        return bytes(data)
    return rng.choice(
        [
            lambda: bytes(data[: rng.randrange(len(data))]),
            lambda: bytes(data[:-1]) * rng.randint(2, 4) + b"\n",
            lambda: rng.randbytes(rng.randint(1, 200)) + b"\n",
            lambda: b"[" * rng.randint(1, 5000) + b"\n",
            lambda: b'{"a":' * rng.randint(1, 900) + b"1" + b"}" * rng.randint(1, 900) + b"\n",
            lambda: b"a" * rng.randint(4000, 9000) + rng.choice([b"", b"\n"]),
            lambda: line(message) * rng.randint(2, 20),
            lambda: json.dumps(message).encode("utf-16") + b"\n",
            lambda: b"\n" * rng.randint(1, 50),
        ]
    )()


# -- against a server ---------------------------------------------------------------------------------------------


class Rig:
    """A plant that notes inputs that it should never receive."""

    def __init__(self) -> None:
        self.moving, self.violations, self.steps = False, [], 0

    def reset(self, seed: int) -> list[float]:
        self.moving = True
        return [0.0, 0.0]

    def step(self, u: np.ndarray) -> list[float]:
        self.steps += 1
        if not self.moving or u.shape != (1,) or not abs(u[0]) <= LIMIT:
            self.violations.append((self.moving, u))
        return [float(u[0]), 0.0]

    def stop(self) -> None:
        self.moving = False


@contextlib.contextmanager
def served(rig: Rig) -> Iterator[tuple[str, int]]:
    """The address of a server in another thread."""
    address: queue.Queue[str] = queue.Queue()
    ended = threading.Event()

    def say(text: str) -> None:
        if text.startswith("plant on"):
            address.put(text)
        if ended.is_set() and "said bye" in text:
            raise KeyboardInterrupt

    def work() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            serve(
                rig,
                positions=["p", "alpha"],
                inputs=["force"],
                limits=[LIMIT],
                sampling_time=1 / 30,
                address="0",
                patience=5,
                step_timeout=60,  # A loaded computer is not a plant that hangs.
                say=say,
            )

    thread = threading.Thread(target=work)
    thread.start()
    place = "127.0.0.1", int(address.get(timeout=20).rpartition(":")[2])
    try:
        yield place
    finally:
        ended.set()
        with Learner(place) as learner:
            learner.send(HELLO, {"type": "bye", "id": 1})
            with contextlib.suppress(ConnectionError):
                while learner.receive():
                    pass
        thread.join(20)
        assert not thread.is_alive()


def attack_server(place: tuple[str, int], rig: Rig, rng: random.Random) -> str | None:
    """Send valid lines and then a hostile one; what is wrong with how the server reacted."""
    before = [HELLO, RESET, STEP][: rng.randrange(4)]
    data = b"".join(map(line, before)) + mutated(rng.choice(REQUESTS), rng)
    answers = b""
    with socket.create_connection(place, 10) as learner:
        with contextlib.suppress(OSError):  # It may have refused the line already.
            learner.sendall(data)
            learner.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while received := learner.recv(65536):
                answers += received
    for answer in answers.splitlines():
        if json.loads(answer).get("type", "error") not in ("hello", "positions", "stopped", "error"):
            return f"{data[:200]!r}: answered {answer[:200]!r}"
    if rig.violations:
        return f"{data[:200]!r}: applied {rig.violations}"
    return None


def serves(place: tuple[str, int]) -> bool:
    """Whether a well-behaved learner is served."""
    with Learner(place) as learner:
        learner.send(HELLO, RESET, STEP, {"type": "stop", "id": 3})
        kinds = [(learner.receive() or {}).get("type") for _ in range(4)]
    return kinds == ["hello", "positions", "positions", "stopped"]


# -- against a client ---------------------------------------------------------------------------------------------


class HostilePlant(Listener):
    """Answers every line that it receives with the next bytes of a script, and then closes the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[bytes] = []

    def converse(self) -> None:
        with self.connection.makefile("rb") as lines:
            for i, data in enumerate(self.script):
                # After the announcement the learner sends its hello and its first request.
                if i and not all(lines.readline() for _ in range(2 if i == 1 else 1)):
                    break
                self.connection.sendall(data)
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(65536):
                pass


def attack_client(plant: HostilePlant, rng: random.Random) -> str | None:
    """Answer a learner's requests, one of them with a hostile line; what is wrong with how the learner reacted."""
    script: list[Any] = [ANNOUNCEMENT]
    script += [{"type": "positions", "id": number, "positions": [0.5, 1.0]} for number in (1, 2)]
    where = rng.randrange(len(script))
    plant.script = [*map(line, script[:where]), mutated(script[where], rng)]
    remote = RemotePlant(plant.url, ["p", "alpha"], ["force"], [LIMIT], 1 / 30, QUICK)
    try:
        remote.open(QUICK.connect)
        for measured in (remote.reset(0), remote.step(np.zeros(1))):
            if measured.shape != (2,) or not np.all(np.isfinite(measured)):
                return f"{plant.script[where][:200]!r}: measured {measured}"
    except UserError as error:
        said = str(error)
        if not (said.isprintable() and said.endswith(".") and len(said) < 600):
            return f"{plant.script[where][:200]!r}: {said!r}"
    except Exception as error:
        return f"{plant.script[where][:200]!r}: {type(error).__name__}: {str(error)[:200]}"
    finally:
        if remote.wire is not None:
            remote.wire.close()
            remote.wire = None
    return None
