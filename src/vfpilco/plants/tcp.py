"""A plant in another process, on another computer or in another language, over TCP; see docs/protocol.md."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from vfpilco.errors import PlantError, UserError
from vfpilco.plants.announcement import PROTOCOL, VERSION, Announcement
from vfpilco.plants.wire import Broken, Wire, left, number, shown

if TYPE_CHECKING:
    from vfpilco.task import Task

AGAIN = 0.1
"""Seconds until a plant that could not be stopped is told again."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds that a plant has for what it is asked, from the first byte to the last."""

    connect: float = 5.0
    """Until it has said what it is."""
    reset: float = 300.0
    """Long, because a person may have to set up the rig."""
    step: float | None = None
    """Five sampling times, and at least half a second, if not given."""
    stop: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UserError(f"The time-out of {name} must be positive, got {value}: give it in seconds.")


class RemotePlant:
    """The learner's side of a plant that listens on TCP.

    Every question has a number, and its answer repeats it. Whatever fails ends the connection, so that an answer can
    never be taken for that to a later question: the plant stops when its learner has gone, `stop` makes a new
    connection to be told so, and so does the next `reset`.
    """

    def __init__(
        self,
        address: str,
        positions: Sequence[str],
        inputs: Sequence[str],
        limits: Sequence[float],
        sampling_time: float,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.wire: Wire | None = None  # First, because a refused address must leave something to close.
        self.address, self.place = address, parse(address)
        self.expected = Announcement(
            tuple(positions), tuple(inputs), tuple(float(limit) for limit in limits), float(sampling_time)
        )
        self.timeouts = Timeouts() if timeouts is None else timeouts
        self.asked = 0
        self.moving = False

    @classmethod
    def connect(cls, url: str, task: Task, timeouts: Timeouts | None = None) -> RemotePlant:
        """Reach the plant at `tcp://host:port`; refused where it is not the one that the task describes."""
        names = [p.name for p in task.positions], [i.name for i in task.inputs]
        plant = cls(url, *names, task.limits.tolist(), task.sampling_time, timeouts)
        plant.open(plant.timeouts.connect)
        return plant

    def open(self, seconds: float) -> None:
        """Connect, hear what the plant is, and say who we are."""
        with self._trying("", seconds) as deadline:
            try:
                connection = socket.create_connection(self.place, left(deadline))
            except (OSError, UnicodeError) as error:
                reason = "no answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or error
                raise Broken(f"cannot be reached ({reason})", "start it, or check the address") from error
            wire = Wire(connection)
            try:
                self.expected.check(Announcement.read(wire.receive(deadline)))
                wire.send({"type": "hello", "protocol": PROTOCOL, "version": VERSION}, deadline)
            except BaseException:
                wire.close()
                raise
            self.wire = wire

    def reset(self, seed: int) -> np.ndarray:
        """Ask for the start; a connection that was lost since the last trial is made anew."""
        if self.wire is not None and not self.wire.is_quiet():
            self._drop()
        if self.wire is None:
            self.open(self.timeouts.connect)
        self.moving = True
        return self._ask("reset", "positions", self.timeouts.reset, seed=int(seed))

    def step(self, u: np.ndarray) -> np.ndarray:
        """Have `u` applied; the plant answers with the positions one sampling time later."""
        seconds = self.timeouts.step
        if seconds is None:
            seconds = max(5 * self.expected.sampling_time, 0.5)
        u = np.asarray(u, dtype=float)
        if u.shape != (len(self.expected.inputs),) or not np.all(np.isfinite(u)):
            raise PlantError(f"The inputs {shown(u.tolist())} were not sent to the plant: give finite ones, one each.")
        return self._ask("step", "positions", seconds, inputs=u.tolist())

    def stop(self) -> None:
        """Have the plant stopped and be told so; tried anew, over new connections, until time is up."""
        if not self.moving and self.wire is None:
            return
        deadline = time.monotonic() + self.timeouts.stop
        while True:
            try:
                if self.wire is None:
                    self.open(max(deadline - time.monotonic(), 0.1))
                self._ask("stop", "stopped", max(deadline - time.monotonic(), 0.1))
                self.moving = False
                return
            except PlantError as problem:
                if time.monotonic() + AGAIN > deadline:
                    unknown = "Nobody knows whether it has stopped: make sure that it stands still."
                    raise PlantError(f"{problem} {unknown}") from problem
            time.sleep(AGAIN)

    def close(self) -> None:
        """Take leave; the plant is free for others then."""
        if self.wire is not None:
            self._tell("bye")
            self.wire.close()
            self.wire = None

    def __enter__(self) -> RemotePlant:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _ask(self, what: str, kind: str, seconds: float, **content: Any) -> Any:
        """Say one line and hear one: positions, or nothing if others are due."""
        with self._trying(f", asked to {what},", seconds) as deadline:
            if self.wire is None:
                raise Broken("is not connected", "reset it first")
            self.asked += 1
            self.wire.send({"type": what, "id": self.asked, **content}, deadline)
            answer = self.wire.receive(deadline)
            self._check(answer, kind)
            return self._positions(answer.get("positions")) if kind == "positions" else None

    def _check(self, answer: dict[str, Any], kind: str) -> None:
        """Refuse what is not the answer to the last question."""
        if "error" in answer:
            raise Broken(f"said {shown(answer['error'])}", "mend that and start again")
        told = answer.get("id")
        if type(told) is not int or told != self.asked:
            raise Broken(
                f"answered question {shown(told)} instead of {self.asked}", "answer every question once, with its id"
            )
        if answer.get("type") != kind:
            raise Broken(f"answered with type {shown(answer.get('type'))}", f"answer with type '{kind}'")

    def _positions(self, values: Any) -> np.ndarray:
        names = self.expected.positions
        if not isinstance(values, list) or len(values) != len(names):
            raise Broken(f"sent positions {shown(values)}", f"send a list of {len(names)}: {', '.join(names)}")
        for name, value in zip(names, values, strict=True):
            if number(value) is None:
                raise Broken(f"sent {name} = {shown(value)}, which is no finite number", "check the sensor")
        return np.array(values, dtype=float)

    @contextlib.contextmanager
    def _trying(self, what: str, seconds: float) -> Iterator[float]:
        """Gives the deadline; whatever fails before it ends the connection and is told in one sentence."""
        try:
            yield time.monotonic() + seconds
            return
        except Broken as problem:
            broken = problem
        except TimeoutError:
            broken = Broken(f"did not answer within {seconds:.3g} s", "check it and the network, or give it longer")
        except OSError as error:
            broken = Broken(f"was lost ({error.strerror or error})", "check it and the network and start again")
        except BaseException:  # Ctrl-C: the answer would come late.
            self._drop()
            raise
        self._drop()
        raise PlantError(f"The plant at {self.address}{what} {broken.did}: {broken.remedy}.") from broken

    def _drop(self) -> None:
        """End a connection that is no good any more, with the word to stop for whoever still listens."""
        if self.wire is not None:
            self._tell("stop")
            self.wire.close()
            self.wire = None

    def _tell(self, what: str) -> None:
        """Say a line that no answer is waited for."""
        assert self.wire is not None
        self.asked += 1
        with contextlib.suppress(OSError):
            self.wire.send({"type": what, "id": self.asked}, time.monotonic() + 0.1)


def parse(address: str) -> tuple[str, int]:
    """Host and port of `tcp://host:port`."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
        fits = url.scheme == "tcp" and not (url.path or url.query or url.fragment or url.username is not None)
    except ValueError:
        host, port, fits = None, None, False
    if not fits or not host or not port:
        raise UserError(f"A plant's address has the form tcp://host:port, got {shown(address)}: give one like that.")
    return host, port
