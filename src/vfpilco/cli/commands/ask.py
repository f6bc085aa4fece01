"""`vfpilco ask RUN`: learn from the trials that were added to a run, and write the next policy."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.cli.arguments import flag, parse
from vfpilco.cli.display import Display
from vfpilco.cli.options import check_columns, given_options, inspected_settings
from vfpilco.common.errors import UserError
from vfpilco.common.say import shown
from vfpilco.common.text import printable, short
from vfpilco.data.records import to_json_types
from vfpilco.data.risk import Risk, percent
from vfpilco.exports import Export, export, possible
from vfpilco.exports.targets import Form
from vfpilco.machines.runs import open_run
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task
from vfpilco.trials.learn import MAY_CHANGE, planned
from vfpilco.trials.tell import Asked, ask


@dataclass(frozen=True)
class Arguments:
    """Learn from all trials of a run, and write the policy for the next trial."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""
    task: str | None = None
    """The task, if it is not a built-in one and its file was moved or changed, or is not one you have run before."""
    inspected: tuple[Path, ...] = ()
    """Recordings of the machine (CSV, MATLAB, Parquet or MCAP): memories and sensor are set to what fits them, before
    the first policy."""
    columns: str = ""
    """Columns that have other names in the recordings of --inspected: NAME=COLUMN, separated by commas."""
    max_risk: float | None = None
    """From now on return policies with a predicted risk of leaving a safe range up to this."""
    to: Form | None = None
    """Also export the policy as a program that does not need this package: C99, an Arduino library, an FMU, …"""
    export: Path | None = None
    """A new folder for that program."""
    quiet: bool = False
    """Show only errors."""
    json: bool = False
    """Print where the policy is and its predicted cost as one JSON object, and nothing else."""


def run(argv: list[str]) -> None:
    """`vfpilco ask RUN`."""
    refuse_settings(argv)
    args: Arguments = parse(Arguments, argv, "ask")
    check_output(args)
    folder, task = open_run(args.run, args.task)
    console = Console(stderr=args.json)
    with Display(console, 1, quiet=args.quiet or args.json) as display:
        display.trials = 1 + sum(row.kind == "policy" for row in folder.results())
        asked = ask(args.run, task, watch=display, **changes(args, folder, task))
    made = None
    if args.to is not None and args.export is not None:
        made = export(args.run, args.to, args.export, trial=asked.trial, components=[task.settings])
    policy = str(args.run / f"policies/{asked.trial:03d}.safetensors")
    if args.json:
        print(json.dumps(to_json(args.run, asked, policy, made)))
    elif not args.quiet:
        for line in sentences(args.run, asked, policy, made):
            console.print(shown(line), highlight=False, soft_wrap=True)


def refuse_settings(argv: list[str]) -> None:
    """Raise a `UserError` for settings, which are fixed when a run is started."""
    given = [name for name in given_options(argv) if name != MAY_CHANGE]
    if given:
        raise UserError(
            f"{flag(given[0])} is a setting, and a run keeps those it was started with: give it to the vfpilco tell "
            "that starts a run; only --inspected changes memories and sensor, until the first policy, and "
            "--max-risk the risk that is allowed."
        )


def check_output(args: Arguments) -> None:
    """Raise a `UserError` for an export that cannot be written, before anything is learned."""
    if (args.to is None) != (args.export is None):
        raise UserError("An export needs both its form as --to and a new folder as --export.")
    if args.to is not None and args.export is not None:
        possible(args.to, args.export)


def changes(args: Arguments, folder: RunFolder, task: Task) -> dict[str, Any]:
    """The settings that change: those that fit the recordings, if there are any, and the risk that is allowed."""
    found = {} if args.max_risk is None else {MAY_CHANGE: args.max_risk}
    check_columns(args.columns, args.inspected)
    if not args.inspected:
        return found
    settings = planned(task, folder, folder.header()).settings
    return {**found, **inspected_settings(args.inspected, args.columns, task, settings)}


def to_json(run: Path, asked: Asked, policy: str, made: Export | None) -> dict[str, Any]:
    """The answer as a JSON object."""
    predicted = dataclasses.asdict(asked.predicted_cost)
    content = {"run": str(run), "trial": asked.trial, "policy": policy, "predicted_cost": predicted}
    content["success_chance"] = asked.success_chance
    content["risk"] = to_json_types(asked.risk)
    return content if made is None else {**content, "export": str(made.folder), "files": made.files}


def sentences(run: Path, asked: Asked, policy: str, made: Export | None) -> list[str]:
    """The answer for a person."""
    cost = asked.predicted_cost
    chance = "" if asked.success_chance is None else f"; success with {percent(asked.success_chance)}"
    expected = f"expected  cost {short(cost.mean)}, 95 % between {short(cost.low)} and {short(cost.high)}{chance}"
    risk = [] if asked.risk is None else risk_lines(asked.risk)
    export = f"export    {made.folder}: {', '.join(made.files)}" if made else ""
    forms = "c, arduino, fmu, onnx or numpy"
    write = f"next      export it as a program ({forms}): vfpilco export {run} --to c --out NEW_FOLDER"
    then = f"then      run it on the machine, log the trial, and: vfpilco tell {run} TRIAL.CSV"
    return [f"policy    {policy}", *([export, expected, *risk] if made else [expected, *risk, write]), then]


def risk_lines(risk: Risk) -> list[str]:
    """What may happen in the next trial: leaving safe ranges, if there are any, and how far the machine may move."""
    named = (("risk", risk.words), ("at most", risk.reach))
    return [f"{name:<10}{printable(words)}" for name, words in named if words]
