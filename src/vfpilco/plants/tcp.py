"""A plant in another process, on another computer or in another language, over TCP.

The protocol is described in docs/reference/protocol.md; this is the side of the learner.
"""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.failures import PlantError
from vfpilco.plants.announcement import PROTOCOL, VERSION, Announcement
from vfpilco.plants.wire import Broken, Wire, left, number, shown
from vfpilco.tasks.realtime import RealTime
from vfpilco.tasks.task import Task

RETRY = 0.1
"""Seconds between two attempts to stop a plant."""
REPORT = 0.5
"""Seconds that a plant has to report that it hangs, after the time that a step may take."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds that a plant has to answer a request, until the last byte of its answer."""

    connect: float = 5.0
    """To connect, until its announcement is complete."""
    reset: float = 300.0
    """Long, because a person may have to set up the rig."""
    step: float | None = None
    """If not given: a sampling time, the task's `step_timeout`, and half a second to report that it hangs."""
    stop: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UserError(f"The timeout of {name} must be positive, got {value}: give it in seconds.")


class RemotePlant:
    """The learner's side of a plant that listens on TCP.

    Every request has a number, which its answer repeats. Any failure closes the connection, so that an answer can never
    be mistaken for that to a later request. The plant stops when its learner disconnects; `stop` connects again to
    have that confirmed, and so does the next `reset`.

    Args:
        address: `tcp://host:port`.
        positions: The names of the positions, in order.
        inputs: The names of the inputs, in order.
        limits: The largest magnitude of every input.
        sampling_time: Seconds between samples.
        timeouts: How long to wait for answers.

    Raises:
        UserError: If the address is invalid.

    Example:
        >>> import vfpilco
        >>> plant = RemotePlant.connect("tcp://127.0.0.1:5555", vfpilco.task("cartpole"))  # doctest: +SKIP
        >>> plant.reset(0)  # doctest: +SKIP
        array([0., 0.])
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
        self.wire: Wire | None = None  # First, because __del__ needs it even if the address is refused.
        self.address, self.place = address, parse(address)
        self.expected = Announcement(
            tuple(positions), tuple(inputs), tuple(float(limit) for limit in limits), float(sampling_time)
        )
        self.timeouts = Timeouts() if timeouts is None else timeouts
        self.requests = 0
        self.moving = False

    @classmethod
    def connect(cls, url: str, task: Task, timeouts: Timeouts | None = None) -> RemotePlant:
        """Connect to the plant of a task.

        Args:
            url: `tcp://host:port`.
            task: The task; positions, inputs, limits and sampling time of the plant must fit it.
            timeouts: How long to wait for answers.

        Raises:
            UserError: If the address is invalid.
            PlantError: If the plant cannot be reached, or is not the one that the task describes.

        Example:
            >>> plant = RemotePlant.connect("tcp://192.168.0.7:5555", task)  # doctest: +SKIP
        """
        machine, timeouts = task.machine, timeouts or Timeouts()
        if timeouts.step is None:
            rules = machine.realtime or RealTime()
            timeouts = replace(timeouts, step=machine.sampling_time + min(rules.step_timeout, timeouts.reset) + REPORT)
        names = [p.name for p in machine.positions], [i.name for i in machine.inputs]
        plant = cls(url, *names, machine.limits.tolist(), machine.sampling_time, timeouts)
        plant.open(plant.timeouts.connect)
        return plant

    def open(self, seconds: float) -> None:
        """Connect, check what the plant announces, and send our own announcement."""
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
        """Bring the plant to its start; connects again if the connection was lost since the last trial."""
        if self.wire is not None and not self.wire.is_quiet():
            self._drop()
        if self.wire is None:
            self.open(self.timeouts.connect)
        self.moving = True
        return self._request("reset", "positions", self.timeouts.reset, seed=int(seed))

    def step(self, u: np.ndarray) -> np.ndarray:
        """Apply `u`; the plant answers with the positions one sampling time later."""
        seconds = self.timeouts.step
        if seconds is None:
            seconds = self.expected.sampling_time + RealTime().step_timeout + REPORT
        u = np.asarray(u, dtype=float)
        if u.shape != (len(self.expected.inputs),) or not np.all(np.isfinite(u)):
            raise PlantError(
                f"The inputs {shown(u.tolist())} were not sent to the plant: give one finite number per input."
            )
        return self._request("step", "positions", seconds, inputs=u.tolist())

    def stop(self) -> None:
        """Stop the plant and wait for its confirmation; retried over new connections until the timeout."""
        if not self.moving and self.wire is None:
            return
        deadline = time.monotonic() + self.timeouts.stop
        while True:
            try:
                if self.wire is None:
                    self.open(max(deadline - time.monotonic(), 0.1))
                self._request("stop", "stopped", max(deadline - time.monotonic(), 0.1))
                self.moving = False
                return
            except PlantError as problem:
                if time.monotonic() + RETRY > deadline:
                    unknown = "It is not known whether it has stopped: make sure that it does not move."
                    raise PlantError(f"{problem} {unknown}") from problem
            time.sleep(RETRY)

    def stop_aside(self) -> None:
        """Stop the plant over a second connection, while another thread waits for an answer on the first one."""
        if self.wire is not None:
            self.wire.shut()  # The other thread no longer waits, and the plant accepts a new learner.
        expected = self.expected
        names = expected.positions, expected.inputs, expected.limits
        with RemotePlant(self.address, *names, expected.sampling_time, self.timeouts) as second:
            second.moving = True
            second.stop()

    def close(self) -> None:
        """Disconnect, so that others can use the plant."""
        if self.wire is not None:
            self._notify("bye")
            self.wire.close()
            self.wire = None

    def __enter__(self) -> RemotePlant:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _request(self, what: str, kind: str, seconds: float, **content: Any) -> Any:
        """Send a request and return the positions in its answer, or None if another kind of answer is expected."""
        with self._trying(f", asked to {what},", seconds) as deadline:
            if self.wire is None:
                raise Broken("is not connected", "reset it first")
            self.requests += 1
            self.wire.send({"type": what, "id": self.requests, **content}, deadline)
            answer = self.wire.receive(deadline)
            self._check(answer, kind)
            return self._positions(answer.get("positions")) if kind == "positions" else None

    def _check(self, answer: dict[str, Any], kind: str) -> None:
        """Raise `Broken` unless this is the answer to the last request."""
        if "error" in answer:
            raise Broken(f"reported {shown(answer['error'])}", "fix that and start again")
        answered = answer.get("id")
        if type(answered) is not int or answered != self.requests:
            raise Broken(
                f"answered request {shown(answered)} instead of {self.requests}",
                "answer every request once, with its id",
            )
        if answer.get("type") != kind:
            raise Broken(f"answered with type {shown(answer.get('type'))}", f"answer with type '{kind}'")

    def _positions(self, values: Any) -> np.ndarray:
        names = self.expected.positions
        if not isinstance(values, list) or len(values) != len(names):
            raise Broken(f"sent positions {shown(values)}", f"send a list of {len(names)}: {', '.join(names)}")
        for name, value in zip(names, values, strict=True):
            if number(value) is None:
                raise Broken(f"sent {name} = {shown(value)}, which is not a finite number", "check the sensor")
        return np.array(values, dtype=float)

    @contextlib.contextmanager
    def _trying(self, what: str, seconds: float) -> Iterator[float]:
        """Yields the deadline; turns any failure into one sentence, and closes the connection."""
        try:
            yield time.monotonic() + seconds
            return
        except Broken as problem:
            broken = problem
        except TimeoutError:
            broken = Broken(f"did not answer within {seconds:.3g} s", "check it and the network, or allow more time")
        except OSError as error:
            broken = Broken(f"was lost ({error.strerror or error})", "check it and the network and start again")
        except BaseException:  # Ctrl-C: the answer is still on its way.
            self._drop()
            raise
        self._drop()
        raise PlantError(f"The plant at {self.address}{what} {broken.did}: {broken.remedy}.") from broken

    def _drop(self) -> None:
        """Close a connection that cannot be used any more, after asking the plant to stop."""
        if self.wire is not None:
            self._notify("stop")
            self.wire.close()
            self.wire = None

    def _notify(self, what: str) -> None:
        """Send a request without waiting for an answer."""
        assert self.wire is not None
        self.requests += 1
        with contextlib.suppress(OSError):
            self.wire.send({"type": what, "id": self.requests}, time.monotonic() + 0.1)


def parse(address: str) -> tuple[str, int]:
    """Host and port of `tcp://host:port`."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
        fits = url.scheme == "tcp" and not (url.path or url.query or url.fragment or url.username is not None)
    except ValueError:
        host, port, fits = None, None, False
    if not fits or not host or not port:
        raise UserError(f"A plant's address has the form tcp://host:port, got {shown(address)}: correct it.")
    return host, port
