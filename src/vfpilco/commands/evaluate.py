"""`vfpilco evaluate RUN`: success rate and cost of a learned policy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.display import Episodes, short, somebody_there
from vfpilco.evaluate import evaluate
from vfpilco.runfolder import RunFolder
from vfpilco.runs import on_plant, task_of


@dataclass(frozen=True)
class Arguments:
    """Run a learned policy on the plant from fresh seeds."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    episodes: int = 20
    """How many times to run it."""
    trial: int | None = None
    """Whose policy: that of this trial; the last one if not given."""
    seed: int = 0
    """Fixes the episodes."""
    task: str | None = None
    """The task, if it is not a built-in one and its file has moved."""
    plant: str | None = None
    """Another plant: tcp://host:port or gym:ID."""
    wait: bool = False
    """Before every episode wait for a person to put the machine in its start and press Enter."""
    json: bool = False
    """Print the results as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco evaluate RUN`: success rate and cost."""
    args = parse(Arguments, argv, "evaluate")
    folder = RunFolder(args.run)
    console = Console(stderr=args.json)
    task = on_plant(task_of(folder, args.task), args.plant, folder, console.print)
    if args.wait:
        somebody_there()
    policy, watch = folder.policy(args.trial), Episodes(console, quiet=args.json, wait=args.wait)
    found = evaluate(task, policy, args.episodes, args.seed, watch)
    summary = {"run": str(args.run), "trial": args.trial, **found.summary()}
    if args.json:
        print(json.dumps({**summary, "costs": found.costs, "successes": found.successes}))
        return
    print(f"{args.run}: {sum(found.successes)} of {args.episodes} episodes succeeded ({summary['success_rate']:.0%})")
    mean, worst = short(summary["cost_mean"]), short(summary["cost_worst"])
    print(f"cost {mean} ± {summary['cost_std']:.{1 if summary['cost_mean'] >= 10 else 3}f}, worst {worst}")
    for measure in task.measures:
        print(f"{measure.name} {summary['measures'][measure.name]:.3g} {measure.unit}")
