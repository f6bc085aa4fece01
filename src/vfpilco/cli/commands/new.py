"""`vfpilco new my_rig.py`: a task file to start from."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file
from vfpilco.common.say import say


@dataclass(frozen=True)
class Arguments:
    """Write a commented task file that can be learned immediately, to be changed to your own machine."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The file to write; it must not exist yet, and end in .py."""


def run(argv: list[str]) -> None:
    """`vfpilco new FILE`."""
    file: Path = parse(Arguments, argv, "new").file
    if file.suffix != ".py":
        raise UserError(f"A task is a Python file, got {file}: give it a name that ends in .py.")
    if file.exists():
        raise UserError(f"{file} exists already: choose another name.")
    write_file(file, files("vfpilco.cli").joinpath("my_rig.template").read_text(encoding="utf-8"))
    say(f"{file} is a simulated pendulum that can be learned immediately:")
    for line in ("", f"  vfpilco learn {file}", "", "Then change it to your machine, from top to bottom."):
        say(line)
    say(f"vfpilco learn {file} --dry-run tests the machine without applying inputs.")
