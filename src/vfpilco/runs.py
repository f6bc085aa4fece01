"""Looking at runs from outside: what they are and how they stand."""

from __future__ import annotations

from typing import Any

from vfpilco.errors import UserError
from vfpilco.runfolder import RunFolder


def summary(folder: RunFolder) -> dict[str, Any]:
    """A run in a few words: task, seed, trials, best cost, success, and whether it is running, finished or damaged."""
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
        row["state"] = "running" if busy else "finished" if finished else "interrupted"
    except UserError as error:
        row["problem"] = str(error)
    except (OSError, KeyError, TypeError, ValueError) as error:
        row["problem"] = f"{folder.path} does not describe a run of this version ({error})."
    return row
