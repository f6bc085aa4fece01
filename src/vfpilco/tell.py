"""Runs whose trials happen elsewhere: they are told of logged trials, and asked for the next policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.comparison import cost_band
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.journal import Result
from vfpilco.learn import begin, known_settings, new, reopen
from vfpilco.runfolder import RunFolder
from vfpilco.settings import Settings
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.watch import Watcher


def tell(
    run: str | Path,
    task: Task,
    trials: Sequence[Trial],
    *,
    names: Sequence[object] = (),
    seed: int | None = None,
    watch: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Add logged trials to the run in the folder `run`, which is begun if there is none.

    The first trial after a policy was asked for is that policy's, and a note tells if its inputs are not; all others
    count as exploration. A trial that the run has already is refused; `names` are what to call the trials then.
    """
    known_settings(settings)
    task.check()
    if not trials:
        raise UserError("There is no trial to tell: give at least one.")
    folder, watch = RunFolder(run), watch or Watcher()
    with folder.held():
        if folder.has("run.json"):
            learner = reopen(task, None, folder, watch, seed=seed, settings=settings)
        else:
            learner = new(task, None, folder, watch, seed=seed, settings=settings)
        files = [folder.path / row["file"] for row in learner.result.rows]
        called = names or [f"Trial {i} of those told" for i in range(1, len(trials) + 1)]
        check_different(learner.result.trials, trials, [*files, *called])
        if not folder.has("run.json"):
            begin(learner, told=True)
        for trial in trials:
            learner.hear(trial)
        return learner.result


def check_different(known: Sequence[Trial], told: Sequence[Trial], names: Sequence[object]) -> None:
    """Refuse a trial that comes twice, as it would count double; `names` are those of both."""
    trials = [*known, *told]
    for i in range(len(known), len(trials)):
        for before, name in zip(trials[:i], names, strict=False):
            if np.array_equal(trials[i].q, before.q):
                raise UserError(f"{names[i]} holds the same measurements as {name}: tell every trial once.")


class Asked(NamedTuple):
    """The answer to `ask`."""

    trial: int
    """The trial that the policy is for."""
    policy: LearnedPolicy
    predicted_cost: dict[str, float]
    """What that trial is expected to cost: mean, low and high."""


def ask(run: str | Path, task: Task, *, watch: Watcher | None = None, **settings: Any) -> Asked:
    """Learn from all that the run was told: the policy for the next trial.

    Asked again before it is told more, it gives the same policy at once. `settings` may change until the first policy.
    """
    known_settings(settings)
    folder, watch = RunFolder(run), watch or Watcher()
    task.check()
    header = folder.header()
    with folder.held():
        if settings:
            header = change_settings(folder, header, task, settings)
        trial = 1 + sum(row["kind"] == "policy" for row in folder.results())
        trials = max(trial, int(header["trials"]))
        learner = reopen(task, None, folder, watch, trials=trials, settings=settings)
        if not learner.result.trials:
            raise UserError(f"{run} has been told of no trial yet: tell it one with vfpilco tell.")
        policy, predicted = learner.propose(trial)
        return Asked(trial, policy, cost_band(predicted))


def change_settings(folder: RunFolder, header: dict[str, Any], task: Task, settings: dict[str, Any]) -> dict[str, Any]:
    """Write other settings down for a run that has no policy yet; one that has is told to keep them."""
    if not isinstance(header.get("settings"), dict):
        return header  # Told when the run is opened.
    then = dataclasses.asdict(Settings.recorded(header["settings"]))
    changed = {name: value for name, value in settings.items() if then.get(name) != value}
    if changed and folder.has("models/001.safetensors"):
        were = ", ".join(f"{name} {then.get(name)}" for name in changed)
        raise UserError(
            f"{folder.path} was learned with {were}, got {', '.join(map(str, changed.values()))}: settings (and "
            "--inspected, which sets some) may change until the first policy; leave them out, or tell its trials to a "
            "new run."
        )
    if not changed:
        return header
    chosen = dataclasses.replace(Settings.recorded(header["settings"]), **settings)
    chosen.check(trials=header["trials"], seed=header["seed"], horizon=task.horizon)
    header = {**header, "settings": dataclasses.asdict(chosen)}
    folder.write_header(header)
    return header
