"""`vfpilco inspect FILE …`: check recordings made elsewhere, and suggest settings."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from tyro.conf import Positional, arg

from vfpilco.cli.arguments import check_given, parse
from vfpilco.cli.columns import listed, renaming
from vfpilco.common.errors import UserError
from vfpilco.common.say import shown
from vfpilco.machines.load import load
from vfpilco.recordings.channels import Channels, guess
from vfpilco.recordings.formats import read_file
from vfpilco.recordings.formats.base import renamed
from vfpilco.recordings.inspection import inspect_recordings
from vfpilco.recordings.logs import Recording, read_recordings, refuse
from vfpilco.recordings.picture import draw_inspection
from vfpilco.recordings.report import as_json, say
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.task import Task
from vfpilco.trials.settings import default_settings


@dataclass(frozen=True)
class Arguments:
    """Report what recordings of a machine contain: errors, rate, noise, delay, and the settings that fit."""

    files: Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE")]
    """Logs of one machine, one trial per file: CSV, MATLAB (.mat), Parquet or MCAP."""
    task: str | None = None
    """The task they belong to: its columns, rate and limits are expected."""
    positions: str = ""
    """Columns of positions, separated by commas, without a task; all others if not given."""
    inputs: str = ""
    """Columns of inputs, separated by commas; guessed by name if not given."""
    angles: str = ""
    """Positions that are angles in radians, separated by commas; guessed by name if not given."""
    columns: str = ""
    """Columns that have other names in the file: NAME=COLUMN, separated by commas."""
    split: bool = False
    """Cut files where samples are missing, into one trial per part."""
    rate: float | None = None
    """Samples per second, for files without a column of times."""
    out: Path | None = None
    """Draw a picture to this PNG file."""
    json: bool = False
    """Print everything as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco inspect FILE …`: a report, and exit code 2 if a file cannot be learned from."""
    args: Arguments = parse(Arguments, argv, "inspect")
    check_given(args.files, "inspect", "FILE: name the logs to inspect")
    task = None if args.task is None else load(args.task)
    channels, guessed = _channels(args, task)
    columns = renaming(args.columns)
    recordings = [
        recording for file in args.files for recording in read_recordings(file, channels, columns, split=args.split)
    ]
    found = inspect_recordings(recordings) if all(_has_samples(r) for r in recordings) else None
    console = Console(stderr=args.json)
    picture = None
    if args.out is not None and found is not None:
        picture = draw_inspection(recordings, found, args.out, None if task is None else task.targets)
    if args.json:
        print(json.dumps({**as_json(recordings, found), "picture": None if picture is None else str(picture)}))
    else:
        if guessed:
            console.print(f"[dim]{shown(guessed)}[/]", highlight=False)
        say(console, recordings, found)
        if picture is not None:
            console.print(f"[bold]picture[/]   {shown(picture)}", highlight=False, soft_wrap=True)
    for recording in recordings:
        refuse(recording)


def _channels(args: Arguments, task: Task | None) -> tuple[Channels, str]:
    """What the files should contain, and a sentence that says what was guessed."""
    if args.rate is not None and not (np.isfinite(args.rate) and args.rate > 0):
        raise UserError(f"rate must be positive, got {args.rate}: give samples per second.")
    given = [listed(text) for text in (args.positions, args.inputs, args.angles)]
    interval = None if args.rate is None else 1 / args.rate
    if task is not None:
        if any(given):
            raise UserError("The task names the columns: leave out --positions, --inputs and --angles.")
        channels = Channels.of(task, (default_settings(task).state or VelocityFree()).longest_memory)
        return (channels if interval is None else dataclasses.replace(channels, sampling_time=interval)), ""
    log = renamed(read_file(args.files[0]), renaming(args.columns))
    channels = dataclasses.replace(guess(log.numeric_names, *given), sampling_time=interval)
    names = [", ".join(c.name for c in group) for group in (channels.positions, channels.inputs)]
    angles = ", ".join(p.name for p in channels.positions if p.angle) or "none"
    guessed = (
        f"By name: positions {names[0]}; inputs {names[1]}; angles {angles}. Change this with --positions, --inputs "
        "and --angles."
    )
    return channels, "" if all(given) else guessed


def _has_samples(recording: Recording) -> bool:
    """Whether there is anything to inspect."""
    forward = np.diff(recording.times) > 0
    return bool(np.isfinite(recording.q).any(0).all() and np.isfinite(recording.u).any(0).all() and forward.any())
