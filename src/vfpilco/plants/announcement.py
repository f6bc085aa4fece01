"""What a plant in another process announces about itself, and whether it fits a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vfpilco.plants.wire import Broken, number, shown

PROTOCOL = "vfpilco-plant"
VERSION = 1
SAME_RATE = 0.01
"""The largest relative difference between two sampling times that count as equal: 0.033 is meant as 1/30."""


@dataclass(frozen=True)
class Announcement:
    """The names of positions and inputs in their order, the largest inputs, and the seconds between samples."""

    positions: tuple[str, ...]
    inputs: tuple[str, ...]
    limits: tuple[float, ...]
    sampling_time: float

    @staticmethod
    def read(hello: dict[str, Any]) -> Announcement:
        """Parse and validate the first line that a plant sends."""
        if "error" in hello:
            raise Broken(f"reported {shown(hello['error'])}", "fix that and start again")
        if hello.get("protocol") != PROTOCOL:
            raise Broken(f"does not speak {PROTOCOL}, it sent {shown(hello)}", "check the address")
        if type(hello.get("version")) is not int or hello["version"] != VERSION:
            raise Broken(
                f"speaks version {shown(hello.get('version'))} of {PROTOCOL}, but this is version {VERSION}",
                "install the same version on both sides",
            )
        inputs = _names(hello, "inputs")
        limits = hello.get("limits")
        values = [number(limit) for limit in limits] if isinstance(limits, list) else []
        found = tuple(value for value in values if value is not None and value > 0)
        if len(found) != len(values) or len(found) != len(inputs):
            raise Broken(f"announced limits {shown(limits)}", "announce one positive number per input")
        sampling_time = number(hello.get("sampling_time"))
        if sampling_time is None or sampling_time <= 0:
            raise Broken(f"announced a sampling time of {shown(hello.get('sampling_time'))}", "announce it in seconds")
        return Announcement(_names(hello, "positions"), inputs, found, sampling_time)

    def check(self, plant: Announcement) -> None:
        """Raise `Broken` unless the plant is the one that is expected."""
        for kind, ours, theirs in (
            ("positions", self.positions, plant.positions),
            ("inputs", self.inputs, plant.inputs),
        ):
            if ours != theirs:
                raise Broken(
                    f"has the {kind} {_list(theirs)} where the task has {_list(ours)}",
                    "use the same names in the same order",
                )
        for name, ours, theirs in zip(self.inputs, self.limits, plant.limits, strict=True):
            if ours > theirs:
                raise Broken(
                    f"accepts {name} up to {theirs:g} where the task has a limit of {ours:g}",
                    "lower the limit in the task, or raise the plant's",
                )
        if abs(self.sampling_time - plant.sampling_time) > SAME_RATE * self.sampling_time:
            raise Broken(
                f"is sampled every {plant.sampling_time:g} s where the task is sampled every {self.sampling_time:g} s",
                "use the same sampling time in both",
            )


def _names(hello: dict[str, Any], kind: str) -> tuple[str, ...]:
    names = hello.get(kind)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise Broken(f"announced {kind} {shown(names)}", "announce a list of names")
    return tuple(names)


def _list(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:12]) + (", …" if len(names) > 12 else "")
