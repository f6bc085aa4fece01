"""The command line: `vfpilco tasks | learn | runs | evaluate | reproduce | bench`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.markdown import Markdown
from tyro.conf import OmitArgPrefixes, Positional, arg

import vfpilco
from vfpilco import tasks
from vfpilco.bench import SIZES, bench
from vfpilco.display import Display, StudyDisplay, bench_table, posterior_sentence, results_table, runs_table, short
from vfpilco.errors import UserError, unknown
from vfpilco.evaluate import evaluate
from vfpilco.learn import MOST_POINTS, Result, learn
from vfpilco.picture import draw_run, photograph_run
from vfpilco.runfolder import RunFolder, check_free
from vfpilco.runs import summary
from vfpilco.settings import Settings, whole
from vfpilco.studies import STUDIES
from vfpilco.studies import load as load_study
from vfpilco.studies.reproduce import reproduce

USAGE = """vfpilco: learn to control a machine from raw position measurements

  vfpilco tasks                 what can be learned
  vfpilco learn TASK            learn it            (vfpilco learn TASK --help: every setting)
  vfpilco learn TASK --out RUN --resume             go on where it was stopped
  vfpilco runs [DIR]            list runs
  vfpilco evaluate RUN          run a learned policy on the plant
  vfpilco reproduce STUDY       make a study of the paper    (vfpilco reproduce --list)
  vfpilco bench                 how fast a gradient step is on this machine
  vfpilco --version
"""


@dataclass(frozen=True)
class Tasks:
    """List what can be learned, a line each."""


@dataclass(frozen=True)
class Learn:
    """Learn a task from scratch."""

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """What to learn; `vfpilco tasks` lists what there is."""
    settings: OmitArgPrefixes[Settings]
    seed: int = 0
    """Fixes everything random: the same seed on the same machine gives the same result."""
    trials: int = 5
    """How many policies to learn and run on the plant."""
    out: Path | None = None
    """Folder for everything the run leaves behind; a new one under runs/ if not given."""
    resume: bool = False
    """Go on with the run in --out, if there is one; what is not given is as it was, and --trials may be raised."""
    quiet: bool = False
    """Show nothing but errors."""
    json: bool = False
    """Print the results as one JSON object at the end, and nothing else."""


@dataclass(frozen=True)
class Runs:
    """List the runs in a folder."""

    folder: Annotated[Positional[Path], arg(metavar="DIR")] = Path("runs")
    """Where to look, subfolders included."""
    json: bool = False
    """Print the list as one JSON object."""


@dataclass(frozen=True)
class Evaluate:
    """Run a learned policy on the plant from fresh seeds."""

    run: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of a run."""
    episodes: int = 20
    """How many times to run it."""
    trial: int | None = None
    """Whose policy: that of this trial; the last one if not given."""
    seed: int = 0
    """Fixes the episodes."""
    json: bool = False
    """Print the results as one JSON object."""


@dataclass(frozen=True)
class Reproduce:
    """Make a study of the paper: every run that is missing, then its table and figure."""

    study: Annotated[Positional[str], arg(metavar="STUDY")]
    """Which one; `vfpilco reproduce --list` lists what there is."""
    seeds: int | None = None
    """Runs per configuration, with seeds 0, 1, …; as many as the paper made if not given."""
    only: tuple[str, ...] = ()
    """Configurations to run; all of them if not given."""
    out: Path | None = None
    """Folder for the runs; runs/STUDY if not given."""
    results: Path | None = None
    """Folder for results, table and figure; docs/results if there is one here, else that of the runs."""
    engine: Literal["local", "ray"] = "local"
    """Processes on this machine, or a Ray cluster (RAY_ADDRESS)."""
    workers: int | None = None
    """Runs side by side; one per core if not given."""
    json: bool = False
    """Print the records as one JSON object at the end, and nothing else."""


@dataclass(frozen=True)
class Bench:
    """Measure how fast a gradient step is on this machine, against a plain version and against its floor."""

    sizes: tuple[int, ...] = SIZES
    """Training points to measure at."""
    json: bool = False
    """Print the results as one JSON object."""


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0, or 2 for something the user can mend."""
    argv = sys.argv[1:] if argv is None else argv
    commands: dict[str, Callable[[list[str]], None]] = {
        "tasks": list_tasks,
        "learn": run_learn,
        "runs": list_runs,
        "evaluate": run_evaluate,
        "reproduce": run_reproduce,
        "bench": run_bench,
    }
    try:
        if not argv or argv[0] in ("-h", "--help"):
            print(USAGE, end="")
        elif argv[0] == "--version":
            print(f"vfpilco {vfpilco.__version__}")
        elif argv[0] not in commands:
            raise unknown("command", argv[0], commands)
        else:
            commands[argv[0]](argv[1:])
    except UserError as error:
        return fail(str(error), 2)
    except OSError as error:
        reason = error.strerror or error
        return fail(f"{error.filename or 'A file'} cannot be used ({reason}): choose another place or make room.", 2)
    except KeyboardInterrupt as stopped:
        return fail(str(stopped) or "stopped.", 130)
    return 0


def fail(sentence: str, code: int) -> int:
    """Say what went wrong in one line; the exit code."""
    print(f"vfpilco: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def parse(cls: Any, argv: list[str], command: str, **given: Any) -> Any:
    """The arguments as an instance of `cls`, with the given defaults; a wrong one is told in one sentence."""
    names = [f.name for f in dataclasses.fields(cls)]
    names += [f.name for f in dataclasses.fields(Settings)] if "settings" in given else []
    flags = [f"--{name.replace('_', '-')}" for name in names] + ["--help"]
    for word in argv:
        flag = word.split("=")[0].replace("_", "-")
        if flag.startswith("--") and flag.replace("--no-", "--") not in flags:
            raise unknown(f"option of vfpilco {command}", flag, flags)
    missing = {f.name: tyro.MISSING for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(cls, args=argv, prog=f"vfpilco {command}", default=cls(**{**missing, **given}))
    except SystemExit as stopped:
        if not stopped.code:
            raise
        lines = [line.strip(" │") for line in said.getvalue().splitlines()[1:]]
        content = " ".join(line for line in itertools.takewhile(lambda line: not line.startswith("──"), lines))
        content = content.replace("invalid literal for int() with base 10:", "a whole number is needed, not")
        raise UserError(f"{content.rstrip('.')}: see vfpilco {command} --help.") from None


def list_tasks(argv: list[str]) -> None:
    """`vfpilco tasks`: a line each."""
    parse(Tasks, argv, "tasks")
    names = tasks.names()
    for name in names:
        print(f"{name:<{max(map(len, names))}}  {tasks.load(name).summary}")


def run_learn(argv: list[str]) -> None:
    """`vfpilco learn TASK …`: learn, show, save."""
    name = next((word for word in argv if word in tasks.names()), None)
    usual = None if name is None else tasks.load(name)
    given: dict[str, Any] = (
        {"settings": Settings()} if usual is None else {"settings": usual.settings, "trials": usual.trials}
    )
    args = parse(Learn, argv, "learn", **given)
    task = tasks.load(args.task)
    if args.resume and args.out is None:
        raise UserError("To go on with a run its folder is needed: name it with --out.")
    if args.resume and (args.out / "run.json").exists():
        args = parse(Learn, argv, "learn", **begun_with(args.out, given))
    whole("trials", args.trials, 1, MOST_POINTS)
    out = args.out or free_folder(Path("runs"), f"{args.task}-seed{args.seed}")
    if not args.resume:
        check_free(out)
    console = Console(stderr=args.json)
    with Display(console, args.trials, quiet=args.quiet or args.json) as display:
        chosen = {f.name: getattr(args.settings, f.name) for f in dataclasses.fields(Settings)}
        try:
            result = learn(
                task, seed=args.seed, trials=args.trials, out=out, resume=args.resume, watch=display, **chosen
            )
            pictures = try_pictures(task, out, display)
        except KeyboardInterrupt as stopped:
            if not (out / "run.json").exists():
                raise
            command = ["vfpilco", "learn", args.task, "--out", str(out), "--resume"]
            raise KeyboardInterrupt(f"stopped; go on with: {shlex.join(command)}") from stopped
    if args.json:
        print(json.dumps({"run": str(out), "pictures": pictures, "notes": display.notes, "results": result.rows}))
    elif not args.quiet:
        finish(console, result, out, pictures)


def begun_with(out: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What a run was begun with, as the defaults of going on with it."""
    header = RunFolder(out).header()
    try:
        settings = dataclasses.replace(given["settings"], **header["settings"])
        return {"settings": settings, "seed": int(header["seed"]), "trials": int(header["trials"])}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{out / 'run.json'} does not describe a run of this version ({error}).") from error


def list_runs(argv: list[str]) -> None:
    """`vfpilco runs [DIR]`: a table."""
    args = parse(Runs, argv, "runs")
    if not args.folder.is_dir():
        raise UserError(f"There is no folder {args.folder}: name one that holds runs.")
    found = [summary(RunFolder(file.parent)) for file in sorted(args.folder.rglob("run.json"))]
    if args.json:
        print(json.dumps(found))
    elif found:
        Console().print(runs_table(found, args.folder))
    else:
        raise UserError(f"There is no run in {args.folder}: learn one, or name another folder.")


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


def finish(console: Console, result: Result, out: Path, pictures: list[str]) -> None:
    """What a person sees at the end of a run."""
    console.print(results_table(result.rows, result.task.measures))
    console.print(f"posterior {posterior_sentence(result.rows)}", highlight=False, markup=False, soft_wrap=True)
    for picture in pictures:
        console.print(f"picture   {picture}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"run       {out}", highlight=False, markup=False, soft_wrap=True)
    program = "vfpilco" if shutil.which("vfpilco") else sys.argv[0]
    console.print(f"again     {program} evaluate {out}", highlight=False, markup=False, soft_wrap=True)


def run_evaluate(argv: list[str]) -> None:
    """`vfpilco evaluate RUN`: success rate and cost."""
    args = parse(Evaluate, argv, "evaluate")
    folder = RunFolder(args.run)
    name = folder.header()["task"]["name"]
    if name not in tasks.names():
        raise UserError(f"{args.run} is of your own task {name!r}: evaluate it from Python with vfpilco.evaluate.")
    task = tasks.load(name)
    found = evaluate(task, folder.policy(args.trial), args.episodes, args.seed)
    summary = {"run": str(args.run), "trial": args.trial, **found.summary()}
    if args.json:
        print(json.dumps({**summary, "costs": found.costs, "successes": found.successes}))
        return
    print(f"{args.run}: {sum(found.successes)} of {args.episodes} episodes succeeded ({summary['success_rate']:.0%})")
    mean, std, worst = (short(summary[f"cost_{name}"]) for name in ("mean", "std", "worst"))
    print(f"cost {mean} ± {std}, worst {worst}")
    for measure in task.measures:
        print(f"{measure.name} {summary['measures'][measure.name]:.3g} {measure.unit}")


def run_reproduce(argv: list[str]) -> None:
    """`vfpilco reproduce STUDY`: run what is missing, show the table."""
    if argv == ["--list"]:
        for study in STUDIES.values():
            print(f"{study.name:<{max(map(len, STUDIES))}}  {study.summary}")
        return
    args = parse(Reproduce, argv, "reproduce")
    study = load_study(args.study)
    out = args.out or Path("runs") / study.name
    usual = Path("docs/results")
    console = Console(stderr=args.json)
    with StudyDisplay(console, quiet=args.json) as audience:
        done = reproduce(
            study,
            seeds=study.published_runs if args.seeds is None else args.seeds,
            out=out,
            results=args.results or (usual if usual.is_dir() else out),
            engine=args.engine,
            workers=args.workers,
            only=args.only,
            command=shlex.join(["vfpilco", "reproduce", *argv]),
            audience=audience,
        )
    if args.json:
        print(json.dumps(done.records))
    elif done.table:
        console.print(Markdown(done.table))
        for file in done.files:
            console.print(str(file), highlight=False, markup=False, soft_wrap=True)
    if done.failed:
        names = ", ".join(outcome.job.name for outcome in done.failed)
        raise UserError(f"{len(done.failed)} runs failed ({names}): mend what they say, and start again.")


def run_bench(argv: list[str]) -> None:
    """`vfpilco bench`: a table of times and ratios, all from one run."""
    args = parse(Bench, argv, "bench")
    for size in args.sizes:
        whole("sizes", size, 20, MOST_POINTS)
    measured = bench(args.sizes)
    if args.json:
        print(json.dumps(measured))
    else:
        Console().print(bench_table(measured))
