"""Runs whose trials are executed elsewhere: `tell` adds logged trials, `ask` returns the next policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError
from vfpilco.data.results import CostBand
from vfpilco.data.risk import Risk
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import Watcher
from vfpilco.machines.load import as_task
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.recordings.trials import jumps
from vfpilco.storage.header import RunHeader
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task
from vfpilco.trials.comparison import forecast
from vfpilco.trials.learn import MAY_CHANGE, Given, begin, planned, reopen
from vfpilco.trials.learner import Learner
from vfpilco.trials.options import differences
from vfpilco.trials.result import RunResult
from vfpilco.trials.settings import Settings


def tell(
    run: str | Path,
    task: Task | str | Path,
    trials: Sequence[Trial],
    *,
    names: Sequence[object] = (),
    seed: int | None = None,
    watch: Watcher | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> RunResult:
    """Add logged trials to a run, which is started if there is none.

    The first trial after `ask` is that policy's, and a note warns if its inputs are not; all others count as
    exploration.

    Args:
        run: The run folder.
        task: The task, its name or its file.
        trials: The logged trials, in the order in which they were executed.
        names: What to call the trials in messages.
        seed: Fixes all randomness of a new run.
        watch: Is informed about everything that happens.
        settings: All settings of a new run.
        **changes: Single settings of a new run, as for `learn`.

    Returns:
        The run so far.

    Raises:
        UserError: If there is no trial, or one that the run already has.

    Example:
        >>> from vfpilco.recordings.logs import read_log
        >>> trial, findings = read_log(Path("first.csv"), task)  # doctest: +SKIP
        >>> vfpilco.tell("runs/bench", task, [trial])  # doctest: +SKIP
    """
    configure()
    task = as_task(task)
    task.check()
    if not trials:
        raise UserError("There is no trial to add: give at least one.")
    folder, watch = RunFolder(run, task.settings, settings, changes), watch or Watcher()
    given = Given(seed, None, settings, changes)
    with folder.held():
        new, recorded = not folder.begun, len(folder.results())
        learner = Learner(given.plan(task), None, folder, watch) if new else reopen(task, None, folder, watch, given)
        known = learner.result.trials
        files = [folder.path / row.file for row in learner.result.rows]
        called = names or [f"Trial {i} of those given" for i in range(1, len(trials) + 1)]
        for trial, name in zip(trials, called, strict=False):
            task.machine.check_plausible(trial.q, name)
            for fault in jumps(trial, task):
                raise UserError(f"{name}: {fault} Leave the trial out, or cut it there.")
        # If adding the same trials was interrupted, the first of them may be there already.
        done = int(len(known) > recorded and np.array_equal(known[-1].q, trials[0].q))
        check_different(known, trials[done:], [*files, *called[done:]])
        if new:
            begin(learner.plan, folder, external=True)
        for trial in trials[done:]:
            learner.ingest(trial)
        return learner.result


def check_different(known: Sequence[Trial], added: Sequence[Trial], names: Sequence[object]) -> None:
    """Raise a `UserError` for a trial that occurs twice, which would count double; `names` are those of both."""
    trials = [*known, *added]
    for i in range(len(known), len(trials)):
        for before, name in zip(trials[:i], names, strict=False):
            if np.array_equal(trials[i].q, before.q):
                raise UserError(f"{names[i]} holds the same measurements as {name}: add every trial once.")


class Asked(NamedTuple):
    """The answer to `ask`."""

    trial: int
    """The trial that the policy is for."""
    policy: LearnedPolicy
    predicted_cost: CostBand
    """What that trial is expected to cost."""
    success_chance: float | None = None
    """The predicted probability of success; None if the task has no success test."""
    risk: Risk | None = None
    """The predicted risk of leaving safe ranges, and how far and how fast the machine may move."""


def ask(
    run: str | Path,
    task: Task | str | Path,
    *,
    watch: Watcher | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Asked:
    """Learn from all trials that were added to a run: the policy for the next trial.

    Asked again before another trial is added, it returns the same policy at once.

    Args:
        run: The run folder.
        task: The task, its name or its file.
        watch: Is informed about everything that happens.
        settings: All settings; they may change until the first policy.
        **changes: Single settings, as for `learn`; likewise.

    Returns:
        The policy, the trial that it is for, and what that trial is expected to cost.

    Raises:
        UserError: If no trial was added yet, or settings other than `max_risk` change after the first policy.
        TooRisky: If the predicted risk of the policy is above `max_risk`.

    Example:
        >>> asked = vfpilco.ask("runs/bench", task)  # doctest: +SKIP
        >>> asked.policy([0.0, 0.0])  # doctest: +SKIP
        array([-1.69])
    """
    configure()
    task = as_task(task)
    folder, watch = RunFolder(run, task.settings, settings, changes), watch or Watcher()
    task.check()
    header = folder.header()
    with folder.held():
        if settings is not None or changes:
            header = _change_settings(folder, header, task, settings, changes)
        if folder.unrecorded:
            reopen(task, None, folder, Watcher(), Given())
        trial = 1 + sum(row.kind == "policy" for row in folder.results())
        learner = reopen(task, None, folder, watch, Given(trials=max(trial, header.trials)))
        if not learner.result.trials:
            raise UserError(f"{run} has no trial yet: add one with vfpilco tell.")
        policy, predicted = learner.propose(trial)
        expected = forecast(task, predicted)
        learner.check_risk(trial, expected)
        return Asked(trial, policy, **vars(expected))


def _change_settings(
    folder: RunFolder, header: RunHeader, task: Task, settings: Settings | None, changes: dict[str, Any]
) -> RunHeader:
    """Write other settings to the header of a run that has no policy yet."""
    then = planned(task, folder, header)
    wanted = (settings or then.settings).replace(**changes)
    changed = differences(then.settings, wanted, task.machine)
    if set(changed) - {MAY_CHANGE} and folder.has("models/001.safetensors"):
        were = ", ".join(f"{name} {before}" for name, (before, _) in changed.items())
        given = ", ".join(str(after) for _, after in changed.values())
        raise UserError(
            f"{folder.path} was learned with {were}, got {given}: settings (and "
            "--inspected, which changes some) may change until the first policy; leave them out, or add the trials to "
            "a new run."
        )
    if not changed:
        return header
    dataclasses.replace(then, settings=wanted).check()
    header = dataclasses.replace(header, settings=wanted.described())
    folder.write_header(header)
    return header
