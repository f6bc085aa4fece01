"""`vfpilco report RUN …`: a page that shows a run, or compares several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from vfpilco.cli.arguments import check_given, parse
from vfpilco.common.errors import UserError
from vfpilco.common.say import say
from vfpilco.report import write_comparison, write_report
from vfpilco.report.figures import write_figures
from vfpilco.report.live import show
from vfpilco.report.source import Source, task_if_any
from vfpilco.storage.runfolder import RunFolder


@dataclass(frozen=True)
class Arguments:
    """Write a page that shows what a run learned; for several runs, one that compares them."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...")]
    """Folders of runs, or results of studies (docs/results/STUDY.jsonl)."""
    out: Path | None = None
    """The page; report.html in the folder of the run, or comparison.html here, if not given."""
    task: str | None = None
    """The task's file, to draw the machine as it draws it now; what was stored is shown if not given."""
    figures: Literal["pdf", "png"] | None = None
    """Also write figures for papers, to the folder `figures` beside the page."""
    open: bool = False
    """Open the page in the browser."""
    json: bool = False
    """Print what was written as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco report RUN …`: write it, and print where."""
    args: Arguments = parse(Arguments, argv, "report")
    check_given(args.runs, "report", "RUN: name the folder of a run")
    written, figures = write(args)
    if args.open:
        show(written, lambda note: say(note, error=True))
    if args.json:
        print(json.dumps({"report": str(written), "figures": [str(file) for file in figures]}))
        return
    say(f"report    {written}")
    for file in figures:
        say(f"figure    {file}")


def write(args: Arguments) -> tuple[Path, list[Path]]:
    """Write the page, and the figures if requested."""
    studies = [path for path in args.runs if path.suffix == ".jsonl"]
    folders = [path for path in args.runs if path.suffix != ".jsonl"]
    if len(folders) != 1 or studies:
        if args.figures is not None:
            raise UserError("Figures are of one run: name its folder alone.")
        return write_comparison(folders, studies, args.out or Path("comparison.html")), []
    folder = RunFolder(folders[0])
    task = task_if_any(folder, args.task)
    written = write_report(folder, args.out, task)
    if args.figures is None:
        return written, []
    return written, write_figures(Source(folder, task), written.parent / "figures", args.figures)
