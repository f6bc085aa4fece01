"""`vfpilco tasks`: what can be learned."""

from __future__ import annotations

from dataclasses import dataclass

from vfpilco import tasks
from vfpilco.arguments import parse


@dataclass(frozen=True)
class Arguments:
    """List what can be learned, a line each."""


def run(argv: list[str]) -> None:
    """`vfpilco tasks`: a line each."""
    parse(Arguments, argv, "tasks")
    names = tasks.names()
    for name in names:
        print(f"{name:<{max(map(len, names))}}  {tasks.load(name).summary}")
