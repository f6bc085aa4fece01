"""`vfpilco runs [DIR]`: a table of runs."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.cli.tables import runs_table
from vfpilco.common.errors import UserError
from vfpilco.machines.runs import summary
from vfpilco.storage.runfolder import RunFolder


@dataclass(frozen=True)
class Arguments:
    """List the runs in a folder."""

    folder: Annotated[Positional[Path], arg(metavar="DIR")] = Path("runs")
    """Where to search, including subfolders."""
    json: bool = False
    """Print the list as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco runs [DIR]`: a table."""
    args: Arguments = parse(Arguments, argv, "runs")
    if not args.folder.is_dir():
        raise UserError(f"There is no folder {args.folder}: name one that contains runs.")
    found = [summary(RunFolder(file.parent)) for file in sorted(args.folder.rglob("run.json"))]
    if args.json:
        print(json.dumps([dataclasses.asdict(each) for each in found]))
    elif found:
        Console().print(runs_table(found, args.folder))
    else:
        raise UserError(f"There is no run in {args.folder}: learn one, or name another folder.")
