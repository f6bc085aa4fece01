"""`vfpilco reproduce STUDY`: run what is missing of a study, show its table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.markdown import Markdown
from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.cli.outputs import row_to_json
from vfpilco.cli.study_display import StudyDisplay
from vfpilco.common.errors import UserError
from vfpilco.data.records import to_json_types
from vfpilco.studies import STUDIES
from vfpilco.studies import load as load_study
from vfpilco.studies.records import RunRecord
from vfpilco.studies.reproduce import reproduce

RESULTS = Path("docs/results")
"""Where results are written if there is such a folder."""


@dataclass(frozen=True)
class Arguments:
    """Reproduce a study: every run that is missing, then its table and figure."""

    study: Annotated[Positional[str], arg(metavar="STUDY")]
    """Its name; `vfpilco reproduce --list` lists them."""
    seeds: int | None = None
    """Runs per configuration, with seeds 0, 1, …; as many as the study has by itself if not given."""
    only: tuple[str, ...] = ()
    """Configurations to run; all of them if not given."""
    out: Path | None = None
    """Folder for the runs; runs/STUDY if not given."""
    results: Path | None = None
    """Folder for results, table and figure; docs/results if it exists here, else that of the runs."""
    engine: Literal["local", "ray"] = "local"
    """Processes on this machine, or a Ray cluster (RAY_ADDRESS)."""
    workers: int | None = None
    """Runs in parallel; one per core if not given."""
    json: bool = False
    """Print the records as one JSON object at the end, and nothing else."""


def run(argv: list[str]) -> None:
    """`vfpilco reproduce STUDY`: run what is missing, show the table."""
    if argv == ["--list"]:
        for study in STUDIES.values():
            print(f"{study.name:<{max(map(len, STUDIES))}}  {study.summary}")
        return
    args: Arguments = parse(Arguments, argv, "reproduce")
    study = load_study(args.study)
    out = args.out or Path("runs") / study.name
    console = Console(stderr=args.json)
    with StudyDisplay(console, quiet=args.json) as watch:
        done = reproduce(
            study,
            seeds=study.published_runs if args.seeds is None else args.seeds,
            out=out,
            results=args.results or (RESULTS if RESULTS.is_dir() else out),
            engine=args.engine,
            workers=args.workers,
            only=args.only,
            watch=watch,
        )
    if args.json:
        print(json.dumps([to_json(record) for record in done.records]))
    elif done.table:
        console.print(Markdown(done.table))
        for file in done.files:
            console.print(str(file), highlight=False, markup=False, soft_wrap=True)
    if done.failed:
        names = ", ".join(outcome.job.name for outcome in done.failed)
        raise UserError(f"{len(done.failed)} runs failed ({names}): fix what their messages say, and start again.")


def to_json(record: RunRecord) -> dict[str, Any]:
    """The record of a run as a JSON object."""
    return {**to_json_types(record), "results": [row_to_json(row) for row in record.results]}
