"""Faults injected at a chosen line of whatever is being executed."""

from __future__ import annotations

import builtins
import signal
import socket
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import vfpilco

PACKAGE = str(Path(vfpilco.__file__).parent)


class Place(NamedTuple):
    """The n-th time that a line is executed."""

    file: str
    line: int
    time: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line} ({self.time})"


class Tracer:
    """Follows the lines of the package and of `others` from the first call of a function called `begin` on.

    At `place` it calls `fault`; an exception that this raises is raised in that line.
    """

    def __init__(
        self, begin: str, others: str, place: Place | None = None, fault: Callable[[], None] | None = None
    ) -> None:
        self.begin, self.others, self.place, self.fault = begin, others, place, fault
        self.active = self.hit = False
        self.times: Counter[tuple[str, int]] = Counter()
        self.places: list[Place] = []

    def __enter__(self) -> Tracer:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) and file != self.others:
            return None
        self.active = self.active or frame.f_code.co_name == self.begin
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and self.active:
            where = frame.f_code.co_filename, frame.f_lineno
            self.times[where] += 1
            place = Place(*where, self.times[where])
            self.places.append(place)
            if place == self.place and self.fault is not None:
                self.hit = True
                self.fault()
        return self._line


class Endless(BaseException):
    """Something has been waiting for longer than it may."""


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Fail if the block does not end in time; what it waits for is interrupted, again and again."""
    late = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        late.append(frame.f_lineno if frame else 0)
        raise Endless

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        assert not late, f"did not end within {seconds:g} s"


class Opened:
    """Remembers sockets, and files in a folder, to close those that a fault has torn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: weakref.WeakSet[Any] = weakref.WeakSet()
        self.socket, self.open = socket.socket.__init__, builtins.open

    def __enter__(self) -> Opened:
        known, ordinary, ordinary_open = self.known, self.socket, self.open

        def init(opened: socket.socket, *given: Any, **named: Any) -> None:
            ordinary(opened, *given, **named)
            known.add(opened)

        def open_file(file: Any, *given: Any, **named: Any) -> Any:
            opened = ordinary_open(file, *given, **named)
            if isinstance(file, str | Path) and Path(file).is_relative_to(self.folder):
                known.add(opened)
            return opened

        socket.socket.__init__, builtins.open = init, open_file
        return self

    def __exit__(self, *_: object) -> None:
        socket.socket.__init__, builtins.open = self.socket, self.open
        for each in list(self.known):
            each.close()
