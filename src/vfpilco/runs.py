"""Looking at runs from outside: what they are and how they stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vfpilco import taskfile, tasks
from vfpilco.errors import UserError
from vfpilco.runfolder import RunFolder
from vfpilco.task import Task


def summary(folder: RunFolder) -> dict[str, Any]:
    """A run in a few words: task, seed, trials, best cost, success, and its state.

    That is running, finished, interrupted or damaged; of a run whose trials happen elsewhere also told (it is to be
    asked for a policy) or waiting (for the log of that policy's trial).
    """
    row: dict[str, Any] = dict.fromkeys(("task", "seed", "trials", "best_cost", "first_success", "problem"))
    row = {"run": str(folder.path), "state": "damaged", "done": 0, **row}
    try:
        header = folder.header()
        row |= {"task": header["task"]["name"], "seed": header["seed"], "trials": header["trials"]}
        done = [result for result in folder.results() if result["kind"] == "policy"]
        row["done"] = len(done)
        row["best_cost"] = min((float(result["cost"]) for result in done), default=None)
        row["first_success"] = next((result["trial"] for result in done if result["success"]), None)
        finished = len(done) >= header["trials"]
        busy = folder.busy
        if not busy:
            folder.check()
        row["state"] = "running" if busy else "finished" if finished else _stands(folder, header, len(done))
    except UserError as error:
        row["problem"] = str(error)
    except (OSError, KeyError, TypeError, ValueError) as error:
        row["problem"] = f"{folder.path} does not describe a run of this version ({error})."
    return row


def _stands(folder: RunFolder, header: dict[str, Any], done: int) -> str:
    """How a run stands that is not finished and not at work: one that is told of trials may wait for the next."""
    if not header.get("told") or folder.has("checkpoint.safetensors"):
        return "interrupted"
    return "waiting" if folder.has(f"predictions/{done + 1:03d}.safetensors") else "told"


def task_of(folder: RunFolder, given: str | None = None) -> Task:
    """The task of a run: the one that is given, or a built-in one, or the one in the file it was begun with.

    A task's file is executed. One inside of a run's folder is not: a folder may come from anywhere.
    """
    header = folder.header()
    name, file = header["task"]["name"], header.get("task_file")
    if given is not None:
        task = tasks.load(given)
        if task.name != name:
            raise UserError(f"{folder.path} is a run of task {name!r}, not of {task.name!r}: name the right file.")
        return task
    if not isinstance(file, str):
        if name in tasks.names():
            return tasks.load(name)
        raise UserError(f"{folder.path} is of a task {name!r} that was made in Python: name its file with --task.")
    if Path(file).resolve().is_relative_to(folder.path.resolve()):
        raise UserError(f"The task of {folder.path} would be a file in that folder, {file}: name it with --task.")
    if not Path(file).is_file():
        raise UserError(f"The task of {folder.path} was in {file}, which is not there: name its file with --task.")
    return taskfile.load(file)


def on_plant(task: Task, named: str | None, folder: RunFolder | None, say: Callable[[str], None]) -> Task:
    """The task with another plant under it: the one that is named, or the one that a run remembers."""
    if named is not None or folder is None:
        return task if named is None else dataclasses.replace(task, substitute=named)
    plant = folder.header().get("plant")
    if not isinstance(plant, str):
        return task
    if plant.startswith("gym:") and ":" in plant[4:]:  # Gymnasium would import a module, and a folder may be anybody's
        raise UserError(f"The run was made with the plant {plant[:200]}: name it with --plant, if you trust it.")
    say(f"The plant is {plant[:200]}, as it was for this run.")
    return dataclasses.replace(task, substitute=plant)
