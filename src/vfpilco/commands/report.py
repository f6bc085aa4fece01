"""`vfpilco report RUN …`: a page that shows a run, or compares several."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.errors import UserError
from vfpilco.report import write_comparison, write_report
from vfpilco.report.run import task_if_any
from vfpilco.runfolder import RunFolder


@dataclass(frozen=True)
class Arguments:
    """Write a page that shows what a run learned; of several runs, one that compares them."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...")]
    """Folders of runs, or results of studies (docs/results/STUDY.jsonl)."""
    out: Path | None = None
    """The page; report.html in the folder of the run, or comparison.html here."""
    task: str | None = None
    """The task, if it is not a built-in one and its file has moved."""
    json: bool = False
    """Print what was written as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco report RUN …`: write it, and say where."""
    args = parse(Arguments, argv, "report")
    if not args.runs:
        raise UserError("Missing from vfpilco report: RUN: name the folder of a run.")
    studies = [path for path in args.runs if path.suffix == ".jsonl"]
    folders = [path for path in args.runs if path.suffix != ".jsonl"]
    if len(folders) == 1 and not studies:
        folder = RunFolder(folders[0])
        task, note = task_if_any(folder, args.task)
        if note:
            print(note, file=sys.stderr)
        written = write_report(folder, args.out, task)
    else:
        written = write_comparison(folders, studies, args.out or Path("comparison.html"))
    print(json.dumps({"report": str(written)}) if args.json else f"report    {written}")
