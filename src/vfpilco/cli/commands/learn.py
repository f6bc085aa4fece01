"""`vfpilco learn TASK`: learn, show, save."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional, arg

from vfpilco.cli.advice import next_steps
from vfpilco.cli.display import Display
from vfpilco.cli.dryrun import show_dry_run
from vfpilco.cli.options import check_columns, inspected_settings, parse_with_options, parse_without_options
from vfpilco.cli.outputs import Outputs, program, try_pictures, try_report
from vfpilco.cli.prompts import agrees_to_plant, check_terminal
from vfpilco.common.checks import check_integer
from vfpilco.common.errors import UserError
from vfpilco.common.text import count
from vfpilco.data.failures import PlantError, TooRisky
from vfpilco.data.watcher import Watcher, Watchers
from vfpilco.machines.load import load
from vfpilco.machines.runs import on_plant
from vfpilco.report.board import Board
from vfpilco.report.live import LivePage
from vfpilco.storage.runfolder import RunFolder, check_free
from vfpilco.tasks.task import Task
from vfpilco.trials.learn import learn, planned
from vfpilco.trials.options import Options
from vfpilco.trials.plan import MOST_POINTS
from vfpilco.trials.settings import Settings, default_settings


@dataclass(frozen=True)
class Arguments:
    """Learn a task from scratch, or resume an interrupted run."""

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """What to learn: a built-in task (`vfpilco tasks` lists them), or a Python file of your own."""
    settings: OmitArgPrefixes[Options]
    seed: int = 0
    """Fixes all randomness: the same seed on the same machine gives the same result."""
    trials: int = 5
    """How many policies to learn and run on the plant."""
    until_successes: int = 0
    """End the run earlier, after so many successes in a row; 0: make all trials."""
    out: Path | None = None
    """Folder for everything the run writes; a new one under runs/ if not given."""
    plant: str | None = None
    """Use another plant: tcp://host:port, gym:ID or fmu:FILE."""
    inspected: tuple[Path, ...] = ()
    """Recordings of the machine (CSV, MATLAB, Parquet or MCAP): memories and sensor are set to what fits them."""
    columns: str = ""
    """Columns that have other names in the recordings of --inspected: NAME=COLUMN, separated by commas."""
    dry_run: bool = False
    """Only test the plant: reset it and hold inputs of zero for a trial; learn nothing, write nothing."""
    wait: bool = False
    """Before every trial wait for a person to put the machine in its start and press Enter."""
    resume: bool = False
    """Continue the run in --out, if there is one; what is not given stays the same; --trials may be raised,
    --until-successes and --max-risk changed."""
    report: bool = True
    """Do not write report.html, the page that shows what was learned; --quiet does not write it either."""
    open: bool = False
    """Open that page in the browser immediately, and update it while the run learns."""
    tensorboard: bool = False
    """Write scalars and figures for TensorBoard to the subfolder `tensorboard` of the run."""
    quiet: bool = False
    """Show only errors."""
    json: bool = False
    """Print the results as one JSON object at the end, and nothing else."""


@dataclass(frozen=True)
class Request:
    """What a command line asks for."""

    args: Arguments
    task: Task
    settings: Settings
    run: RunFolder | None
    """The run to resume; None for a new one."""


def run(argv: list[str]) -> None:
    """`vfpilco learn TASK …`: learn, show, save."""
    request = understand(argv)
    args = request.args
    if args.wait:
        check_terminal()
    if args.dry_run:
        task = on_plant(request.task, args.plant, None, agrees_to_plant)
        show_dry_run(task, request.settings.limits, seed=args.seed, wait=args.wait, as_json=args.json)
        return
    check_integer("trials", args.trials, 1, MOST_POINTS)
    out = args.out or free_folder(Path("runs"), f"{request.task.name}-seed{args.seed}")
    if not args.resume:
        check_free(out)
    console = Console(stderr=args.json)
    with Display(console, args.trials, quiet=args.quiet or args.json, wait=args.wait) as display:
        done = carry_out(request, out, display)
    if args.json:
        print(json.dumps(done.to_json(out, display.notes)))
    elif not args.quiet:
        done.show(console, out, [] if done.solved else next_steps(done.result, [args.task, *plant_flags(args)], out))


def understand(argv: list[str]) -> Request:
    """What the command line asks for; the defaults of settings are those of its task, or of the run to resume."""
    rough: Arguments = parse_without_options(Arguments, argv, "learn")
    check_columns(rough.columns, rough.inspected)
    task = load(rough.task)
    resumed = None if rough.dry_run else run_to_resume(rough, task)
    defaults: dict[str, Any] = {"trials": task.trials}
    base = default_settings(task)
    if resumed is not None:
        then = planned(task, resumed, resumed.header())
        defaults = {"trials": then.trials, "until_successes": then.until_successes, "seed": then.seed}
        base = then.settings
    if rough.inspected and not rough.dry_run:
        base = base.replace(**inspected_settings(rough.inspected, rough.columns, task, base))
    args, settings = parse_with_options(Arguments, argv, "learn", base, task.machine, **defaults)
    return Request(args, task, settings, resumed)


def run_to_resume(args: Arguments, task: Task) -> RunFolder | None:
    """The run that is to be resumed, if there is one in the folder."""
    if not args.resume:
        return None
    if args.out is None:
        raise UserError("To resume a run its folder is needed: name it with --out.")
    folder = RunFolder(args.out, task.settings)
    return folder if folder.begun else None


def carry_out(request: Request, out: Path, display: Display) -> Outputs:
    """Learn, then draw pictures and write the report; a failure says how to resume."""
    args, task = request.args, request.task
    with following(args, task, out, display) as watch:
        task = on_plant(task, args.plant, request.run, agrees_to_plant)
        try:
            result = learn(
                task,
                seed=args.seed,
                trials=args.trials,
                until_successes=args.until_successes,
                out=out,
                resume=args.resume,
                watch=watch,
                settings=request.settings,
            )
            pictures = try_pictures(task, out, display)
            report = try_report(task, out, display) if args.report and not args.quiet else None
        except KeyboardInterrupt as stopped:
            if not (out / "run.json").exists():
                raise
            raise KeyboardInterrupt(f"stopped; resume with: {resume_command(args, out)}") from stopped
        except PlantError as error:
            if not (out / "run.json").exists():
                raise
            raise UserError(f"{error} {kept_samples(error)}Resume with: {resume_command(args, out)}") from error
        except TooRisky as error:
            asking = resume_command(dataclasses.replace(args, wait=True), out)
            raise UserError(f"{error} To be asked instead, resume with: {asking}") from error
    return Outputs(result, pictures, report)


@contextmanager
def following(args: Arguments, task: Task, out: Path, display: Display) -> Iterator[Watcher]:
    """The watchers of the run: the terminal, and if requested the page in the browser and TensorBoard."""
    page = LivePage(task, out, display.note) if args.open else None
    board = Board(task, out, display.note) if args.tensorboard else None
    try:
        yield Watchers(display, *(other for other in (page, board) if other is not None))
    finally:
        if page is not None:
            page.write(live=False)
        if board is not None:
            board.close()


def resume_command(args: Arguments, out: Path) -> str:
    """The command that resumes a run that was stopped."""
    return shlex.join([*program(), "learn", args.task, "--out", str(out), "--resume", *plant_flags(args)])


def plant_flags(args: Arguments) -> list[str]:
    """The flags that say how the machine is driven."""
    return [*(["--plant", args.plant] if args.plant else []), *(["--wait"] if args.wait else [])]


def kept_samples(error: PlantError) -> str:
    """What is kept of a trial in which the plant failed."""
    samples = 0 if error.partial is None else len(error.partial.q)
    return f"The {count(samples, 'sample')} until then are kept in the run's folder. " if samples else ""


def free_folder(parent: Path, name: str) -> Path:
    """The first of name, name-2, name-3 … that does not exist yet."""
    candidates = (parent / (name if i == 1 else f"{name}-{i}") for i in range(1, 10_000))
    return next(path for path in candidates if not path.exists())
