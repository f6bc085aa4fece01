"""`vfpilco ask RUN`: learn from what a run was told, and write the next policy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.display import Display, short
from vfpilco.recordings.takeover import settings_from
from vfpilco.runfolder import RunFolder
from vfpilco.runs import task_of
from vfpilco.tell import ask


@dataclass(frozen=True)
class Arguments:
    """Learn from all trials a run was told, and write the policy to be tried next."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""
    task: str | None = None
    """The task, if it is not a built-in one and its file has moved."""
    inspected: tuple[Path, ...] = ()
    """Recordings of the machine (CSV files): memories and sensor are set to what fits them, before the first policy."""
    quiet: bool = False
    """Show nothing but errors."""
    json: bool = False
    """Print where the policy is and what is predicted of it as one JSON object, and nothing else."""


def run(argv: list[str]) -> None:
    """`vfpilco ask RUN`."""
    args = parse(Arguments, argv, "ask")
    folder = RunFolder(args.run)
    task = task_of(folder, args.task)
    settings = settings_from(args.inspected, task) if args.inspected else {}
    console = Console(stderr=args.json)
    with Display(console, 1, quiet=args.quiet or args.json) as display:
        display.trials = 1 + sum(row["kind"] == "policy" for row in folder.results())
        asked = ask(args.run, task, watch=display, **settings)
    said = {
        "run": str(args.run),
        "trial": asked.trial,
        "policy": str(args.run / f"policies/{asked.trial:03d}.safetensors"),
        "predicted_cost": asked.predicted_cost,
    }
    if args.json:
        print(json.dumps(said))
    elif not args.quiet:
        mean, low, high = (short(asked.predicted_cost[name]) for name in ("mean", "low", "high"))
        console.print(f"policy    {said['policy']}", highlight=False, markup=False, soft_wrap=True)
        console.print(f"expected  cost {mean}, 95 % between {low} and {high}", highlight=False)
        console.print(f"then      vfpilco tell {args.run} TRIAL.CSV", highlight=False, markup=False, soft_wrap=True)
