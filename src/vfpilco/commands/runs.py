"""`vfpilco runs [DIR]`: a table of runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.display import runs_table
from vfpilco.errors import UserError
from vfpilco.runfolder import RunFolder
from vfpilco.runs import summary


@dataclass(frozen=True)
class Arguments:
    """List the runs in a folder."""

    folder: Annotated[Positional[Path], arg(metavar="DIR")] = Path("runs")
    """Where to look, subfolders included."""
    json: bool = False
    """Print the list as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco runs [DIR]`: a table."""
    args = parse(Arguments, argv, "runs")
    if not args.folder.is_dir():
        raise UserError(f"There is no folder {args.folder}: name one that holds runs.")
    found = [summary(RunFolder(file.parent)) for file in sorted(args.folder.rglob("run.json"))]
    if args.json:
        print(json.dumps(found))
    elif found:
        Console().print(runs_table(found, args.folder))
    else:
        raise UserError(f"There is no run in {args.folder}: learn one, or name another folder.")
