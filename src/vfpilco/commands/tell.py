"""`vfpilco tell RUN trial.csv …`: add trials that were logged elsewhere to a run."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from vfpilco import tasks
from vfpilco.arguments import parse
from vfpilco.commands.learn import begun_with
from vfpilco.display import short
from vfpilco.errors import UserError
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.logs import read_recording, trial_of
from vfpilco.runfolder import RunFolder
from vfpilco.runs import task_of
from vfpilco.settings import Settings
from vfpilco.tell import tell
from vfpilco.watch import Watcher


@dataclass(frozen=True)
class Arguments:
    """Add logged trials to a run, which is begun if there is none."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""
    files: Annotated[Positional[tuple[Path, ...]], arg(metavar="TRIAL.CSV ...")]
    """Logged trials, a CSV file each, in the order in which they happened."""
    settings: OmitArgPrefixes[Settings]
    task: str | None = None
    """The task: a built-in one or a Python file; needed to begin a run."""
    seed: int | None = None
    """Fixes everything random of a run that is begun."""
    json: bool = False
    """Print what was told as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco tell RUN --task my_rig.py trial.csv …`."""
    given = begin_with(argv)
    args = parse(Arguments, argv, "tell", **given)
    folder = RunFolder(args.run)
    if not folder.has("run.json") and args.task is None:
        raise UserError(
            f"There is no run in {args.run} yet: name its task with --task, a built-in one or a Python file."
        )
    task = tasks.load(args.task) if args.task is not None else task_of(folder)
    recordings = [read_recording(file, Channels.of(task)) for file in args.files]
    for recording in recordings:
        for finding in recording.findings:
            print(f"{recording.path}, {finding}", file=sys.stderr)
    trials = [trial_of(recording, task) for recording in recordings]
    settings = dataclasses.asdict(args.settings)
    result = tell(args.run, task, trials, names=args.files, seed=args.seed, watch=Notes(), **settings)
    told = result.rows[-len(trials) :]
    if args.json:
        print(json.dumps({"run": str(args.run), "told": told}))
        return
    for file, row in zip(args.files, told, strict=True):
        what = "exploration" if row["kind"] == "explore" else f"trial {row['trial']}"
        print(f"{file}: {what}, cost {short(row['cost'])}{', success' if row['success'] else ''}")
    print(f"next      vfpilco ask {args.run}")


class Notes(Watcher):
    """Says what a person should know, beside what is printed as the result."""

    def note(self, text: str) -> None:
        print(f"note      {text}", file=sys.stderr)


def begin_with(argv: list[str]) -> dict[str, Any]:
    """The defaults of the settings: those of the run if it has begun, else those of the task that is named."""
    rough = parse(Arguments, argv, "tell", settings=Settings())
    if (rough.run / "run.json").exists():
        begun = begun_with(rough.run)
        return {"settings": begun["settings"], "seed": begun["seed"]}
    return {"settings": Settings() if rough.task is None else tasks.load(rough.task).settings}
