"""`vfpilco tasks`: what can be learned."""

from __future__ import annotations

from dataclasses import dataclass

from vfpilco.cli.arguments import parse
from vfpilco.machines.load import load, names


@dataclass(frozen=True)
class Arguments:
    """List the built-in tasks, one per line."""


def run(argv: list[str]) -> None:
    """`vfpilco tasks`: a line each."""
    parse(Arguments, argv, "tasks")
    width = max(map(len, names()))
    for name in names():
        print(f"{name:<{width}}  {load(name).summary}")
