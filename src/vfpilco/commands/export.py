"""`vfpilco export RUN`: a learned policy as C, ONNX or NumPy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.export import export


@dataclass(frozen=True)
class Arguments:
    """Write a learned policy as a program that needs nothing of this one."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    to: Literal["c", "onnx", "numpy"]
    """C99, an ONNX model, or a Python file that needs NumPy alone."""
    out: Path
    """A new folder for it."""
    trial: int | None = None
    """Whose policy: that of this trial; the last one if not given."""
    precision: Literal["double", "float"] = "double"
    """In what the program computes; its memory is always double."""
    check: bool = False
    """Build and run it against the learned policy on 10,000 histories first, and refuse it if it differs."""
    json: bool = False
    """Print what was written and found as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco export RUN`: write it, and say where and how well it agrees."""
    args = parse(Arguments, argv, "export")
    made = export(args.run, args.to, args.out, trial=args.trial, precision=args.precision, check=args.check)
    if args.json:
        found = None if made.report is None else made.report._asdict()
        print(json.dumps({"export": str(made.folder), "files": made.files, "check": found}))
        return
    print(f"{made.folder}: {', '.join(made.files)}")
    for sentence in made.report.sentences() if made.report else []:
        print(sentence)
