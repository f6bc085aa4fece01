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
from vfpilco.common.say import say, shown
from vfpilco.data.records import to_json_types
from vfpilco.studies import STUDIES, alternatives, calibration, draws
from vfpilco.studies import load as load_study
from vfpilco.studies.alternatives.comparison import SEEDS
from vfpilco.studies.alternatives.records import AlternativeRecord
from vfpilco.studies.records import RunRecord
from vfpilco.studies.reproduce import reproduce

RESULTS = Path("docs/results")
"""Where results are written if there is such a folder."""


@dataclass(frozen=True)
class Arguments:
    """Reproduce a study: every run that is missing, then its table and figure."""

    study: Annotated[Positional[str], arg(metavar="STUDY")]
    """The name of the study; `vfpilco reproduce --list` lists them."""
    seeds: int | None = None
    """Runs per configuration, with seeds 0, 1, …; the study's own number if not given."""
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


class Lines(alternatives.ComparisonWatcher):
    """Prints a line for every attempt."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def begin(self, total: int, missing: int) -> None:
        self.console.print(f"{total} attempts: {total - missing} finished, {missing} missing", highlight=False)

    def attempted(self, name: str, record: AlternativeRecord | None, problem: str) -> None:
        said = shown(problem)
        if record is not None:
            done = record.attempt
            said = f"{'solved' if done.solved else 'not solved'}: {done.experience_s:.3g} s, {done.minutes:.3g} min"
        self.console.print(f"  {shown(name):<32} {said}", highlight=False)


def compare_alternatives(args: Arguments) -> None:
    """`vfpilco reproduce alternatives`: run what is missing, show the table."""
    if args.engine != "local":
        raise UserError(f"The study {alternatives.NAME!r} measures times on this computer: leave --engine out.")
    console = Console(stderr=args.json)
    done = alternatives.compare(
        results=args.results or (RESULTS if RESULTS.is_dir() else args.out or Path("runs") / alternatives.NAME),
        seeds=SEEDS if args.seeds is None else args.seeds,
        only=args.only,
        workers=args.workers,
        watch=alternatives.ComparisonWatcher() if args.json else Lines(console),
    )
    if args.json:
        print(json.dumps([to_json_types(record) for record in done.records]))
    else:
        _show(console, done.table, done.files)
    if done.failed:
        raise UserError(
            f"{len(done.failed)} attempts failed ({', '.join(done.failed)}): start again after fixing them."
        )


def _show(console: Console, table: str, files: tuple[Path, ...]) -> None:
    """The table of a study, and the files that were written."""
    if table:
        console.print(Markdown(table))
        for file in files:
            console.print(shown(file), highlight=False, soft_wrap=True)


def run(argv: list[str]) -> None:
    """`vfpilco reproduce STUDY`: run what is missing, show the table."""
    if argv == ["--list"]:
        known = {study.name: study.summary for study in STUDIES.values()}
        known |= {other.NAME: other.SUMMARY for other in (alternatives, calibration, draws)}
        for name, summary in known.items():
            print(f"{name:<{max(map(len, known))}}  {summary}")
        return
    args: Arguments = parse(Arguments, argv, "reproduce")
    if args.study == alternatives.NAME:
        return compare_alternatives(args)
    if args.study == calibration.NAME:
        done = calibration.calibrate(args.results or RESULTS)
        return _show(Console(), done.table, done.files)
    if args.study == draws.NAME:
        done = draws.compare_draws(args.out or Path("runs"), args.results or RESULTS, say)
        return _show(Console(), done.table, done.files)
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
    else:
        _show(console, done.table, done.files)
    if done.failed:
        names = ", ".join(outcome.job.name for outcome in done.failed)
        raise UserError(f"{len(done.failed)} runs failed ({names}): fix what their messages say, and start again.")


def to_json(record: RunRecord) -> dict[str, Any]:
    """The record of a run as a JSON object."""
    return {**to_json_types(record), "results": [row_to_json(row) for row in record.results]}
