"""`vfpilco ask RUN`: learn from what a run was told, and write the next policy."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.arguments import parse
from vfpilco.display import Display, short
from vfpilco.errors import UserError
from vfpilco.export import Export, export, possible
from vfpilco.recordings.takeover import settings_from
from vfpilco.runfolder import RunFolder
from vfpilco.runs import task_of
from vfpilco.settings import Settings
from vfpilco.tell import Asked, ask


@dataclass(frozen=True)
class Arguments:
    """Learn from all trials a run was told, and write the policy to be tried next."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""
    task: str | None = None
    """The task, if it is not a built-in one and its file has moved."""
    inspected: tuple[Path, ...] = ()
    """Recordings of the machine (CSV files): memories and sensor are set to what fits them, before the first policy."""
    to: Literal["c", "onnx", "numpy"] | None = None
    """Write the policy also as a program that needs nothing of this one: C99, an ONNX model, or NumPy alone."""
    export: Path | None = None
    """A new folder for that program."""
    quiet: bool = False
    """Show nothing but errors."""
    json: bool = False
    """Print where the policy is and what is predicted of it as one JSON object, and nothing else."""


def run(argv: list[str]) -> None:
    """`vfpilco ask RUN`."""
    check_words(argv)
    args = parse(Arguments, argv, "ask")
    check_export(args)
    folder = RunFolder(args.run)
    task = task_of(folder, args.task)
    settings = settings_from(args.inspected, task) if args.inspected else {}
    console = Console(stderr=args.json)
    with Display(console, 1, quiet=args.quiet or args.json) as display:
        display.trials = 1 + sum(row["kind"] == "policy" for row in folder.results())
        asked = ask(args.run, task, watch=display, **settings)
    made = None if args.to is None else export(args.run, args.to, args.export, trial=asked.trial)
    said = {
        "run": str(args.run),
        "trial": asked.trial,
        "policy": str(args.run / f"policies/{asked.trial:03d}.safetensors"),
        "predicted_cost": asked.predicted_cost,
    }
    said |= {} if made is None else {"export": str(made.folder), "files": made.files}
    if args.json:
        print(json.dumps(said))
    elif not args.quiet:
        for line in sentences(args.run, asked, said["policy"], made):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def check_words(argv: list[str]) -> None:
    """Refuse settings, which belong to the beginning of a run."""
    names = {f"--{f.name.replace('_', '-')}" for f in dataclasses.fields(Settings)}
    given = [word for word in argv if word.split("=")[0].replace("_", "-") in names]
    if given:
        raise UserError(
            f"{given[0]} is a setting, and a run keeps those that it was begun with: give it to the vfpilco tell that "
            "begins a run; --inspected alone changes memories and sensor, until the first policy."
        )


def check_export(args: Arguments) -> None:
    """Refuse an export that cannot be written, before anything is learned."""
    if (args.to is None) != (args.export is None):
        raise UserError("An export needs both: its form as --to, and a new folder as --export.")
    if args.to is not None and args.export is not None:
        possible(args.to, args.export)


def sentences(run: Path, asked: Asked, policy: str, made: Export | None) -> list[str]:
    """What came of it, for a person."""
    mean, low, high = (short(asked.predicted_cost[name]) for name in ("mean", "low", "high"))
    expected = f"expected  cost {mean}, 95 % between {low} and {high}"
    export = f"export    {made.folder}: {', '.join(made.files)}" if made else ""
    write = f"next      make it a program (c, onnx or numpy): vfpilco export {run} --to c --out NEW_FOLDER"
    then = f"then      run it on the machine, log the trial, and: vfpilco tell {run} TRIAL.CSV"
    return [f"policy    {policy}", *([export, expected] if made else [expected, write]), then]
