"""The verb: `learn(task, …)`, from scratch or where a run was stopped."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from vfpilco.errors import UserError, unknown
from vfpilco.execute import connected
from vfpilco.journal import Result
from vfpilco.learner import Learner
from vfpilco.plants.base import Plant
from vfpilco.runfolder import RunFolder, check_free
from vfpilco.settings import Settings, whole
from vfpilco.task import Input, Position, Task
from vfpilco.versions import machine, versions
from vfpilco.watch import Watcher


def learn(
    task: Task,
    *,
    seed: int | None = None,
    trials: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Learn `task` in `trials` trials (as many as the task has, if not given) from `seed` (0).

    `settings` override the task's own (see `Settings`); `out` is a folder for everything the run leaves behind;
    `watch` is told what happens. The same seed on the same machine gives the same result, to the bit.

    With `resume` the run in `out` goes on, if there is one, and ends as if it had never been stopped. What is not given
    is as it was; `trials` may be raised.
    """
    known_settings(settings)
    if resume and out is None:
        raise UserError("To go on with a run its folder is needed: name it with --out.")
    task.check()
    watch = watch or Watcher()
    folder = None if out is None else RunFolder(out)
    if folder is not None and resume and folder.has("run.json"):
        with folder.held(), connected(task) as plant:
            return reopen(task, plant, folder, watch, seed=seed, trials=trials, settings=settings).run()
    if folder is not None:
        check_free(folder.path)
    with connected(task) as plant:
        learner = new(task, plant, folder, watch, seed=seed, trials=trials, settings=settings)
        if folder is None:
            return learner.run()
        with folder.held():
            begin(learner)
            return learner.run()


def new(
    task: Task,
    plant: Plant | None,
    folder: RunFolder | None,
    watch: Watcher,
    *,
    seed: int | None = None,
    trials: int | None = None,
    settings: dict[str, Any],
) -> Learner:
    """The learner of a run that has not begun."""
    chosen = dataclasses.replace(task.settings, **settings)
    seed, trials = 0 if seed is None else seed, task.trials if trials is None else trials
    chosen.check(trials=trials, seed=seed, horizon=task.horizon)
    return Learner(task, plant, chosen, int(seed), int(trials), folder, watch)


def begin(learner: Learner, told: bool = False) -> None:
    """Write down what the run is, in its folder, which is held; `told` if its trials happen elsewhere."""
    assert learner.folder is not None
    check_free(learner.folder.path)
    learner.folder.write_header(
        {
            "task": describe(learner.task),
            "task_file": learner.task.file,
            "plant": learner.task.substitute,
            "settings": dataclasses.asdict(learner.settings),
            "seed": learner.seed,
            "trials": learner.trials,
            "versions": versions(),
            "machine": machine(),
            **({"told": True} if told else {}),
        }
    )


def reopen(
    task: Task,
    plant: Plant | None,
    folder: RunFolder,
    watch: Watcher,
    *,
    seed: int | None = None,
    trials: int | None = None,
    settings: dict[str, Any],
) -> Learner:
    """The learner of the run in `folder`, which is held, where it was stopped; what is given has to be as it was."""
    header = folder.header()
    if trials is not None:
        whole("trials", trials, 1)
    try:
        settings_then, seed_then, trials_then = Settings.recorded(header["settings"]), header["seed"], header["trials"]
        settings_then.check(trials=trials_then, seed=seed_then, horizon=task.horizon)
        then, now = completed(header["task"]), completed(json.loads(json.dumps(describe(task))))
        given = {"seed": (seed_then, seed), **{n: (getattr(settings_then, n), v) for n, v in settings.items()}}
        changed = [f"task.{name}" for name in now if then.get(name) != now[name]]
    except (KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"{folder.path / 'run.json'} does not describe a run of this version ({error}).") from error
    if changed and not folder.results():  # nothing was learned yet
        header = {**header, "task": describe(task)}
        folder.write_header(header)
    elif changed:
        raise UserError(
            f"{folder.path} was learned with another {' and '.join(changed)}: go on with that task, or start a new run."
        )
    for name, (was, value) in given.items():
        if value is not None and value != was:
            raise UserError(
                f"{folder.path} was learned with {name} {was}, got {value}: leave --{name.replace('_', '-')} out, or "
                "start a new run."
            )
    trials = int(trials_then if trials is None else trials)
    if trials < trials_then:
        raise UserError(f"{folder.path} is a run of {trials_then} trials, got {trials}: ask for more, not fewer.")
    learner = Learner(task, plant, settings_then, seed_then, trials, folder, watch)
    if header.get("versions") != versions() or header.get("machine") != machine():
        watch.note("The run was begun with other versions or on another machine: its last digits may differ from here.")
    now = {"trials": trials, "plant": task.substitute or header.get("plant")}
    if any(header.get(name) != value for name, value in now.items()):
        folder.write_header({**header, **now})
    learner.journal.restore()
    if plant is not None and len(learner.result.successes) >= trials:
        watch.note(f"The run has made all of its {trials} trials: ask for more with --trials to go on.")
    return learner


def known_settings(settings: dict[str, Any]) -> None:
    """Refuse the name of a setting that does not exist."""
    known = {f.name for f in dataclasses.fields(Settings)}
    for name in settings.keys() - known:
        raise unknown("setting", name, known)


def describe(task: Task) -> dict[str, Any]:
    """What run.json says of a task."""
    return {
        "name": task.name,
        "positions": [dataclasses.asdict(p) for p in task.positions],
        "inputs": [dataclasses.asdict(i) for i in task.inputs],
        "sampling_time": task.sampling_time,
        "horizon": task.horizon,
        "explorations": task.explorations,
    }


def completed(description: dict[str, Any]) -> dict[str, Any]:
    """A description with what older versions did not write down yet at its default."""
    parts = {"positions": Position, "inputs": Input}
    defaults = {
        name: {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
        for name, cls in parts.items()
    }
    return {
        **description,
        **{name: [{**usual, **row} for row in description[name]] for name, usual in defaults.items()},
    }
