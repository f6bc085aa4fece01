"""Runs on disk: their status, their task, and the plant under it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.machines import load
from vfpilco.storage.header import RunHeader
from vfpilco.storage.runfolder import CHECKPOINT, RunFolder
from vfpilco.tasks import file as taskfile
from vfpilco.tasks.task import Task


@dataclass(frozen=True)
class RunSummary:
    """A run in a few words."""

    run: str
    """Its folder."""
    state: Literal["running", "finished", "interrupted", "damaged", "ready", "waiting"] = "damaged"
    """A run whose trials are executed elsewhere is ready (to ask for a policy) or waiting (for that policy's log)."""
    done: int = 0
    """How many policies were executed."""
    task: str | None = None
    seed: int | None = None
    trials: int | None = None
    best_cost: float | None = None
    first_success: int | None = None
    """The first trial that succeeded."""
    problem: str | None = None
    """What is wrong with a damaged run."""


def summary(folder: RunFolder) -> RunSummary:
    """The status of a run."""
    row = RunSummary(str(folder.path))
    try:
        header = folder.header()
        done = [result for result in folder.results() if result.kind == "policy"]
        row = dataclasses.replace(
            row,
            task=header.task.name,
            seed=header.seed,
            trials=header.trials,
            done=len(done),
            best_cost=min((result.cost for result in done), default=None),
            first_success=next((result.trial for result in done if result.success), None),
        )
        busy = folder.busy
        if not busy:
            folder.check()
        finished = header.ended([result.success for result in done])
        state = "running" if busy else "finished" if finished else _unfinished(folder, header, len(done))
        return dataclasses.replace(row, state=state)
    except UserError as error:
        return dataclasses.replace(row, problem=str(error))
    except (OSError, *DATA_ERRORS) as error:
        return dataclasses.replace(row, problem=f"{folder.path} does not hold a run of this version ({error}).")


def _unfinished(folder: RunFolder, header: RunHeader, done: int) -> Literal["interrupted", "waiting", "ready"]:
    """The state of a run that is neither finished nor running."""
    if not header.external or folder.has(CHECKPOINT):
        return "interrupted"
    return "waiting" if folder.has(f"predictions/{done + 1:03d}.safetensors") else "ready"


def task_of(folder: RunFolder, given: str | None = None) -> Task:
    """The task of a run: the one that is given, or a built-in one, or the one in the file it was started with.

    A task's file is executed. One that only the folder names is executed if the user has run it before: a folder may
    come from anywhere.
    """
    header = folder.header()
    name, file = header.task.name, header.task_file
    if given is not None:
        task = load.load(given)
        if task.name != name:
            raise UserError(f"{folder.path} is a run of task {name!r}, not of {task.name!r}: name the right file.")
    elif file is not None:
        try:
            task = taskfile.load_known(file)
        except UserError as error:
            raise UserError(f"{folder.path} holds no program: {error}") from error
    elif name in load.names():
        task = load.load(name)
    else:
        raise UserError(f"{folder.path} is of a task {name!r} that was made in Python: name its file with --task.")
    if not _same_machine(task, header):
        raise UserError(f"{folder.path} is a run of a machine with other positions or inputs than task {task.name!r}.")
    return task


def built_in(name: str | None, header: RunHeader) -> Task | None:
    """The built-in task called `name`, if there is one and its machine has the positions and inputs of a run."""
    if name not in load.names():
        return None
    task = load.load(name)
    return task if _same_machine(task, header) else None


def _same_machine(task: Task, header: RunHeader) -> bool:
    ours, theirs = (([p.name for p in of.positions], [i.name for i in of.inputs]) for of in (task.machine, header.task))
    return ours == theirs


def open_run(path: str | Path, given: str | None = None) -> tuple[RunFolder, Task]:
    """A run and its task, whose own components the run's files may name."""
    task = task_of(RunFolder(path), given)
    return RunFolder(path, task.settings), task


def on_plant(task: Task, address: str | None, folder: RunFolder | None, agreed: Callable[[str], bool]) -> Task:
    """The task with another plant: the one that is given, or the one that a run was made with.

    Args:
        task: The task.
        address: The plant that the user gave.
        folder: The run, if there is one.
        agreed: Asks the user whether a plant that only the folder names may be used.

    Raises:
        UserError: If the user does not agree.
    """
    plant = address or (None if folder is None else folder.header().plant)
    if plant is None:
        return task
    if address is None and not agreed(plant):
        raise UserError(
            f"The run was made with the plant {plant[:200]}: a run folder does not decide what is driven, so name it "
            f"with --plant {plant[:200]}"
        )
    return dataclasses.replace(task, plant=plant)
