"""`vfpilco tell RUN trial.csv …`: add trials that were logged elsewhere to a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from vfpilco.cli.arguments import HELP, parse, wants_help
from vfpilco.cli.columns import renaming
from vfpilco.cli.options import parse_with_options, parse_without_options
from vfpilco.cli.outputs import row_to_json
from vfpilco.common.errors import UserError
from vfpilco.common.say import say
from vfpilco.common.text import short
from vfpilco.data.results import TrialResult
from vfpilco.data.watcher import Watcher
from vfpilco.machines.load import load
from vfpilco.machines.runs import task_of
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.logs import read_recordings, trial_of
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task
from vfpilco.trials.learn import planned
from vfpilco.trials.options import Options
from vfpilco.trials.settings import Settings, default_settings
from vfpilco.trials.tell import tell


@dataclass(frozen=True)
class Arguments:
    """Add logged trials to a run, which is started if there is none."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""
    files: Annotated[Positional[tuple[Path, ...]], arg(metavar="TRIAL ...")]
    """Logged trials, one per file (CSV, MATLAB, Parquet or MCAP), in the order in which they were executed."""
    settings: OmitArgPrefixes[Options]
    task: str | None = None
    """The task: a built-in one or a Python file; needed to start a run."""
    columns: str = ""
    """Columns that have other names in the files: NAME=COLUMN, separated by commas."""
    split: bool = False
    """Cut files where samples are missing, and at the horizon of the task, into one trial per part."""
    seed: int | None = None
    """Fixes all randomness of a new run."""
    json: bool = False
    """Print the results of the added trials as one JSON object."""


class PrintedNotes(Watcher):
    """Prints notes to standard error, apart from the results."""

    def note(self, text: str) -> None:
        say(f"note      {text}", error=True)


def run(argv: list[str]) -> None:
    """`vfpilco tell RUN --task my_rig.py trial.csv …`."""
    if wants_help(argv):
        parse(Arguments, [word for word in argv if word in HELP], "tell", settings=Options())
    args, task, settings = understand(argv)
    channels, columns = Channels.of(task, (settings.state or VelocityFree()).longest_memory), renaming(args.columns)
    recordings = [
        recording for file in args.files for recording in read_recordings(file, channels, columns, split=args.split)
    ]
    for recording in recordings:
        for finding in recording.findings:
            say(f"{recording.label}, {finding}", error=True)
    trials = [trial_of(recording, task) for recording in recordings]
    labels = [recording.label for recording in recordings]
    result = tell(args.run, task, trials, names=labels, seed=args.seed, watch=PrintedNotes(), settings=settings)
    show(args, labels, result.rows[-len(trials) :])


def understand(argv: list[str]) -> tuple[Arguments, Task, Settings]:
    """The arguments, the task, and the settings; their defaults are those of the run, or of the task of a new one."""
    rough: Arguments = parse_without_options(Arguments, argv, "tell")
    folder = RunFolder(rough.run)
    if not folder.begun and rough.task is None:
        raise UserError(
            f"There is no run in {rough.run} yet: name its task with --task, a built-in one or a Python file."
        )
    task = task_of(folder) if rough.task is None else load(rough.task)
    folder = RunFolder(rough.run, task.settings)
    base = planned(task, folder, folder.header()).settings if folder.begun else default_settings(task)
    args, settings = parse_with_options(Arguments, argv, "tell", base, task.machine)
    return args, task, settings


def show(args: Arguments, labels: list[str], added: list[TrialResult]) -> None:
    """Print what the added trials were."""
    if args.json:
        print(json.dumps({"run": str(args.run), "added": [row_to_json(row) for row in added]}))
        return
    for label, row in zip(labels, added, strict=True):
        what = "exploration" if row.kind == "explore" else f"trial {row.trial}"
        say(f"{label}: {what}, cost {short(row.cost)}{', success' if row.success else ''}")
    say(f"next      vfpilco ask {args.run}")
