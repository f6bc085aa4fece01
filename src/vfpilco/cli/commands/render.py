"""`vfpilco render RUN --out FILE`: a picture or a film of the machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.cli.display import FilmProgress
from vfpilco.common.checks import check_integer
from vfpilco.common.errors import UserError
from vfpilco.common.say import say
from vfpilco.report.movie import check_kind, film_of_run, render
from vfpilco.report.picture import policy_row
from vfpilco.report.source import Source, task_if_any
from vfpilco.storage.runfolder import RunFolder


@dataclass(frozen=True)
class Arguments:
    """Write a picture or a film of the machine in a trial, beside what was predicted."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    out: Path
    """The file: .png or .pdf for a picture, .gif or .mp4 for a film."""
    trial: int | None = None
    """Which trial, 0 for the exploration; the last one if not given."""
    predicted: bool = True
    """Draw the machine alone, without what was predicted."""
    fps: int = 20
    """Pictures per second of a film."""
    speed: float = 1.0
    """Speed of a film; 0.5 is half as fast as the machine."""
    task: str | None = None
    """The task's file, to draw the machine as it draws it now; what was stored is shown if not given."""
    json: bool = False
    """Print what was written as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco render RUN --out FILE`: write it, and print where."""
    args: Arguments = parse(Arguments, argv, "render")
    check_integer("fps", args.fps, 1, 100)
    if not 0 < args.speed < float("inf"):
        raise UserError(f"The speed must be positive, got {args.speed}.")
    folder = RunFolder(args.run)
    task = task_if_any(folder, args.task)
    index = 0 if args.trial == 0 else policy_row(folder, args.trial)[0]
    source = Source(folder, task)
    if not source.results:
        raise UserError(f"{args.run} has no trial yet: learn first.")
    check_kind(args.out)
    film = film_of_run(source, index, args.predicted)
    with FilmProgress(quiet=args.json) as drawn:
        written = render(film, args.out, fps=args.fps, speed=args.speed, progress=drawn)
    say(json.dumps({"rendered": str(written)}) if args.json else f"rendered  {written}")
