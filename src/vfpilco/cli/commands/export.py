"""`vfpilco export RUN`: a learned policy as C, an Arduino library, an FMU, ONNX or NumPy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.common.say import say
from vfpilco.exports import export
from vfpilco.exports.targets import Form
from vfpilco.machines.runs import open_run


@dataclass(frozen=True)
class Arguments:
    """Write a learned policy as a program that does not need this package."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    to: Form
    """C99, an Arduino library, an FMU, an ONNX model, or a Python file that needs NumPy alone."""
    out: Path
    """A new folder for it."""
    trial: int | None = None
    """Export the policy of this trial; the last one if not given."""
    task: str | None = None
    """The task file, if the run uses components of its own."""
    precision: Literal["double", "float"] | None = None
    """The type that the program computes with: double, for Arduino float; its memory is always double."""
    prefix: str | None = None
    """What the names in a C program start with, instead of vfpilco: two policies can then be in one program."""
    check: bool = False
    """Build the program and compare it with the learned policy on 10,000 histories first; refuse it if it differs."""
    json: bool = False
    """Print what was written and what the check found as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco export RUN`: write it, and print where and how well it agrees."""
    args: Arguments = parse(Arguments, argv, "export")
    made = export(
        args.run,
        args.to,
        args.out,
        trial=args.trial,
        precision=args.precision,
        prefix=args.prefix,
        check=args.check,
        components=() if args.task is None else [open_run(args.run, args.task)[1].settings],
    )
    if args.json:
        found = None if made.report is None else made.report._asdict()
        print(json.dumps({"export": str(made.folder), "files": made.files, "check": found, "notes": made.notes}))
        return
    say(f"{made.folder}: {', '.join(made.files)}")
    for sentence in [*(made.report.sentences() if made.report else []), *made.notes]:
        say(sentence)
