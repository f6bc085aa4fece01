"""`vfpilco evaluate RUN`: success rate and cost of a learned policy."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.cli.display import Episodes
from vfpilco.cli.prompts import agrees_to_plant, check_terminal
from vfpilco.common.say import say
from vfpilco.common.text import short
from vfpilco.machines.runs import on_plant, open_run
from vfpilco.tasks.task import Task
from vfpilco.trials.evaluate import Evaluation, evaluate


@dataclass(frozen=True)
class Arguments:
    """Run a learned policy on the plant from new seeds."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    episodes: int = 20
    """How many times to run it."""
    trial: int | None = None
    """Run the policy of this trial; the last one if not given."""
    seed: int = 0
    """Fixes the episodes."""
    task: str | None = None
    """The task, if it is not a built-in one and its file was moved or changed, or is not one you have run before."""
    plant: str | None = None
    """Use another plant: tcp://host:port, gym:ID or fmu:FILE."""
    wait: bool = False
    """Before every episode wait for a person to put the machine in its start and press Enter."""
    json: bool = False
    """Print the results as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco evaluate RUN`: success rate and cost."""
    args: Arguments = parse(Arguments, argv, "evaluate")
    folder, task = open_run(args.run, args.task)
    console = Console(stderr=args.json)
    task = on_plant(task, args.plant, folder, agrees_to_plant)
    if args.wait:
        check_terminal()
    policy, watch = folder.policy(args.trial), Episodes(console, quiet=args.json, wait=args.wait)
    found = evaluate(task, policy, args.episodes, args.seed, watch)
    if args.json:
        summary = {"run": str(args.run), "trial": args.trial, **dataclasses.asdict(found.summary())}
        print(json.dumps({**summary, "costs": found.costs, "successes": found.successes, "ended": found.ends}))
    else:
        show(args.run, task, found)


def show(run: Path, task: Task, found: Evaluation) -> None:
    """Print success rate, cost and measures."""
    summary = found.summary()
    successes = f"{sum(found.successes)} of {summary.episodes} episodes succeeded ({summary.success_rate:.0%})"
    spread = f"{summary.cost_std:.{1 if summary.cost_mean >= 10 else 3}f}"
    say(f"{run}: {successes}")
    say(f"cost {short(summary.cost_mean)} ± {spread}, worst {short(summary.cost_worst)}")
    for measure in task.measures:
        say(f"{measure.name} {summary.measures[measure.name]:.3g} {measure.unit}")
