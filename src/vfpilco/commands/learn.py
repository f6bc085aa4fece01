"""`vfpilco learn TASK`: learn, show, save."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional, arg

from vfpilco import taskfile, tasks
from vfpilco.arguments import parse
from vfpilco.display import Display, posterior_sentence, results_table, somebody_there
from vfpilco.dryrun import dry_run
from vfpilco.errors import PlantError, UserError
from vfpilco.journal import Result
from vfpilco.learn import learn
from vfpilco.learner import MOST_POINTS
from vfpilco.picture import draw_run, photograph_run
from vfpilco.recordings.takeover import settings_from
from vfpilco.report import write_report
from vfpilco.report.board import Board
from vfpilco.report.live import LivePage
from vfpilco.runfolder import RunFolder, check_free
from vfpilco.runs import on_plant
from vfpilco.settings import Settings, whole
from vfpilco.task import Task
from vfpilco.watch import Several, Watcher
from vfpilco.words import count


@dataclass(frozen=True)
class Arguments:
    """Learn a task from scratch."""

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """What to learn: a built-in task (`vfpilco tasks` lists them), or a Python file of your own."""
    settings: OmitArgPrefixes[Settings]
    seed: int = 0
    """Fixes everything random: the same seed on the same machine gives the same result."""
    trials: int = 5
    """How many policies to learn and run on the plant."""
    out: Path | None = None
    """Folder for everything the run leaves behind; a new one under runs/ if not given."""
    plant: str | None = None
    """Another plant under the task: tcp://host:port or gym:ID."""
    inspected: tuple[Path, ...] = ()
    """Recordings of the machine (CSV files): memories and sensor are set to what fits them."""
    dry_run: bool = False
    """Only try the plant: bring it to its start and hold inputs of zero for a trial; learn nothing, write nothing."""
    wait: bool = False
    """Before every trial wait for a person to put the machine in its start and press Enter."""
    resume: bool = False
    """Go on with the run in --out, if there is one; what is not given is as it was, and --trials may be raised."""
    report: Annotated[bool, arg(help_behavior_hint="")] = True
    """Make no report.html, the page that shows what was learned; there is none with --quiet either."""
    open: bool = False
    """Open that page in the browser at once, and keep it up to date while the run learns."""
    tensorboard: bool = False
    """Keep scalars and figures for TensorBoard in the folder `tensorboard` of the run."""
    quiet: bool = False
    """Show nothing but errors."""
    json: bool = False
    """Print the results as one JSON object at the end, and nothing else."""


def run(argv: list[str]) -> None:
    """`vfpilco learn TASK …`: learn, show, save."""
    name = next((word for word in argv if word in tasks.names() or taskfile.names_task(word)), None)
    usual = None if name is None else tasks.load(name)
    given: dict[str, Any] = (
        {"settings": Settings()} if usual is None else {"settings": usual.settings, "trials": usual.trials}
    )
    args = parse(Arguments, argv, "learn", **given)
    task = usual if args.task == name and usual is not None else tasks.load(args.task)
    if args.wait:
        somebody_there()
    if args.dry_run:
        show_dry_run(args, on_plant(task, args.plant, None, print))
        return
    if args.inspected:
        given["settings"] = dataclasses.replace(given["settings"], **settings_from(args.inspected, task))
        args = parse(Arguments, argv, "learn", **given)
    if args.resume and args.out is None:
        raise UserError("To go on with a run its folder is needed: name it with --out.")
    begun = RunFolder(args.out) if args.resume and (args.out / "run.json").exists() else None
    if begun is not None:
        args = parse(Arguments, argv, "learn", **begun_with(begun.path))
    whole("trials", args.trials, 1, MOST_POINTS)
    out = args.out or free_folder(Path("runs"), f"{task.name}-seed{args.seed}")
    if not args.resume:
        check_free(out)
    console = Console(stderr=args.json)
    with (
        Display(console, args.trials, quiet=args.quiet or args.json, wait=args.wait) as display,
        following(args, task, out, display) as watch,
    ):
        chosen = {f.name: getattr(args.settings, f.name) for f in dataclasses.fields(Settings)}
        task = on_plant(task, args.plant, begun, watch.note)
        try:
            result = learn(task, seed=args.seed, trials=args.trials, out=out, resume=args.resume, watch=watch, **chosen)
            pictures = try_pictures(task, out, display)
            report = try_report(task, out, display) if args.report and not args.quiet else None
        except KeyboardInterrupt as stopped:
            if not (out / "run.json").exists():
                raise
            raise KeyboardInterrupt(f"stopped; go on with: {going_on(args, out)}") from stopped
        except PlantError as error:
            if not (out / "run.json").exists():
                raise
            raise UserError(f"{error} {kept_of(error)}Go on with: {going_on(args, out)}") from error
    if args.json:
        made = {"run": str(out), "pictures": pictures, "report": report}
        print(json.dumps({**made, "notes": display.notes, "results": result.rows}))
    elif not args.quiet:
        finish(console, result, out, pictures, report)


@contextmanager
def following(args: Arguments, task: Task, out: Path, display: Display) -> Iterator[Watcher]:
    """All who are told what the run does: the terminal, and if asked for the page in the browser and TensorBoard."""
    page = LivePage(task, out, display.note) if args.open else None
    board = Board(task, out, display.note) if args.tensorboard else None
    try:
        yield Several(display, *(other for other in (page, board) if other is not None))
    finally:
        if page is not None:
            page.write(live=False)
        if board is not None:
            board.close()


def going_on(args: Arguments, out: Path) -> str:
    """The command that goes on with a run that was stopped."""
    command = [*program(), "learn", args.task, "--out", str(out), "--resume"]
    command += ["--plant", args.plant] if args.plant else []
    command += ["--wait"] if args.wait else []
    return shlex.join(command)


def kept_of(error: PlantError) -> str:
    """What is kept of a trial in which the plant failed."""
    samples = 0 if error.partial is None else len(error.partial.q)
    return f"The {count(samples, 'sample')} until then are kept in the run's folder. " if samples else ""


def program() -> list[str]:
    """How this program is called."""
    return ["vfpilco"] if shutil.which("vfpilco") else [Path(sys.executable).name, "-m", "vfpilco"]


def show_dry_run(args: Arguments, task: Task) -> None:
    """What the plant does when it is held still."""
    watch = Display(Console(stderr=True), args.trials, quiet=True, wait=args.wait)
    tried = dry_run(task, args.settings, args.seed, watch)
    if args.json:
        print(json.dumps(dataclasses.asdict(tried)))
    else:
        print("\n".join(tried.sentences()))
    if tried.problems:
        raise UserError(" ".join(tried.problems))


def begun_with(out: Path) -> dict[str, Any]:
    """What a run was begun with, as the defaults of going on with it."""
    header = RunFolder(out).header()
    try:
        return {
            "settings": Settings.recorded(header["settings"]),
            **{name: int(header[name]) for name in ("seed", "trials")},
        }
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{out / 'run.json'} does not describe a run of this version ({error}).") from error


def free_folder(parent: Path, name: str) -> Path:
    """The first of name, name-2, name-3 … that does not exist yet."""
    candidates = (parent / (name if i == 1 else f"{name}-{i}") for i in range(1, 10_000))
    return next(path for path in candidates if not path.exists())


def try_pictures(task: Any, out: Path, display: Display) -> list[str]:
    """The pictures of a run; where one cannot be drawn, a note says what to install."""
    wanted: dict[str, Callable[..., Path]] = {"picture.png": draw_run}
    if task.photograph is not None:
        wanted["photograph.png"] = photograph_run
    made = []
    for name, draw in wanted.items():
        try:
            made.append(str(draw(task, RunFolder(out), out / name)))
        except Exception as error:
            display.note(f"There is no {name}: {error}")
    return made


def try_report(task: Task, out: Path, display: Display) -> str | None:
    """The page of a run; where it cannot be written, a note says why."""
    try:
        return str(write_report(RunFolder(out), task=task))
    except Exception as error:
        display.note(f"There is no report: {type(error).__name__}: {error}")
        return None


def finish(console: Console, result: Result, out: Path, pictures: list[str], report: str | None) -> None:
    """What a person sees at the end of a run."""
    console.print(results_table(result.rows, result.task.measures))
    console.print(f"posterior {posterior_sentence(result.rows)}", highlight=False, markup=False, soft_wrap=True)
    for picture in pictures:
        console.print(f"picture   {picture}", highlight=False, markup=False, soft_wrap=True)
    if report is not None:
        console.print(f"report    {report}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"run       {out}", highlight=False, markup=False, soft_wrap=True)
    again = shlex.join([*program(), "evaluate", str(out)])
    console.print(f"again     {again}", highlight=False, markup=False, soft_wrap=True)
