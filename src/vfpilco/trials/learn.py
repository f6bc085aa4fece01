"""The verb: `learn(task, …)`, from scratch or resumed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from vfpilco.common.checks import check_integer
from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError
from vfpilco.common.text import count
from vfpilco.common.versions import computer, versions
from vfpilco.data.watcher import Watcher
from vfpilco.machines.load import as_task
from vfpilco.storage.header import RunHeader, TaskDescription
from vfpilco.storage.memory import Memory
from vfpilco.storage.runfolder import RunFolder, check_free
from vfpilco.tasks.plant import Plant
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import connected
from vfpilco.trials.learner import Learner
from vfpilco.trials.options import differences, recorded_settings
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import RunResult
from vfpilco.trials.settings import Settings, default_settings

MAY_CHANGE = "max_risk"
"""The setting that may be another one when a run is resumed: which risk is allowed is no part of what was learned."""
INSPECTED = ("m_q", "m_u", "sensor")
"""The settings that recordings of the machine may be the reason for."""


def learn(
    task: Task | str | Path,
    *,
    seed: int | None = None,
    trials: int | None = None,
    until_successes: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watcher | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> RunResult:
    """Learn a task; `vfpilco.learn` has the same arguments, shows progress and returns a result with plots.

    Returns:
        Trials, results, the last policy and the model behind it.

    Raises:
        UserError: If the task or a setting is wrong, before the plant moves.
        PlantError: If the plant fails; with `out` everything until then is kept and the run can be resumed.
        TooRisky: If the predicted risk of a policy is above `max_risk`; likewise.
    """
    configure()
    if resume and out is None:
        raise UserError("To resume a run its folder is needed: name it with --out.")
    task = as_task(task)
    task.check()
    watch = watch or Watcher()
    given = Given(seed, trials, settings, changes, until_successes)
    if out is None:
        with connected(task) as plant:
            return Learner(given.plan(task), plant, Memory(), watch).run()
    folder = RunFolder(out, task.settings, settings, changes)
    if resume and folder.begun:
        with folder.held(), connected(task) as plant:
            return reopen(task, plant, folder, watch, given).run()
    check_free(folder.path)
    with connected(task) as plant:
        learner = Learner(given.plan(task), plant, folder, watch)
        with folder.held():
            begin(learner.plan, folder)
            return learner.run()


@dataclasses.dataclass(frozen=True)
class Given:
    """What a caller gave about a run; None or empty where nothing was."""

    seed: int | None = None
    trials: int | None = None
    settings: Settings | None = None
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    until_successes: int | None = None

    def plan(self, task: Task) -> Plan:
        """The plan of a new run."""
        base = self.settings or default_settings(task)
        seed, trials = 0 if self.seed is None else self.seed, task.trials if self.trials is None else self.trials
        plan = Plan(task, base.replace(**self.changes), seed, trials, self.until_successes or 0)
        plan.check()
        return dataclasses.replace(plan, seed=int(seed), trials=int(trials))


def begin(plan: Plan, folder: RunFolder, *, external: bool = False) -> None:
    """Write the header of a new run to its folder, which is held; `external` if its trials are executed elsewhere."""
    check_free(folder.path)
    folder.write_header(plan.header(external=external))


def reopen(task: Task, plant: Plant | None, folder: RunFolder, watch: Watcher, given: Given) -> Learner:
    """The learner of the run in `folder`, which is held, where it was interrupted."""
    recorded = folder.header()
    if given.trials is not None:
        check_integer("trials", given.trials, 1)
    then = planned(task, folder, recorded)
    header, then = _checked(task, folder, recorded, then, given)
    trials = int(header.trials if given.trials is None else given.trials)
    if trials < header.trials:
        raise UserError(f"{folder.path} is a run of {header.trials} trials, got {trials}: give more, not fewer.")
    until = header.until_successes if given.until_successes is None else given.until_successes
    check_integer("until_successes", until, 0)
    then = dataclasses.replace(then, trials=trials, until_successes=int(until))
    learner = Learner(then, plant, folder, watch)
    if header.versions != versions() or header.machine != computer():
        watch.note("The run was started with other versions or on another computer: last digits may differ.")
    address = task.plant or header.plant
    now = dataclasses.replace(
        then.header(external=header.external),
        plant=address,
        versions=header.versions,
        machine=header.machine,
        format=header.format,
    )
    if now != recorded:
        folder.write_header(now)
    learner.journal.restore(folder)
    if plant is None:
        learner.adopt_finished()
    done = learner.result.successes
    if plant is not None and then.ended(done):
        more = "--trials" if len(done) >= trials else "--until-successes"
        watch.note(f"The run has finished, after {count(len(done), 'trial')}: give more with {more} to continue.")
    return learner


def planned(task: Task, folder: RunFolder, header: RunHeader) -> Plan:
    """The plan of the run in `folder`."""
    try:
        settings = recorded_settings(header.settings, task.machine, task.settings, *folder.components)
        return Plan(task, settings, header.seed, header.trials, header.until_successes)
    except UserError as error:
        raise UserError(f"{folder.path / 'run.json'} does not describe a run of this version ({error}).") from error


def _checked(task: Task, folder: RunFolder, header: RunHeader, then: Plan, given: Given) -> tuple[RunHeader, Plan]:
    """Header and plan of a run, after checking that what is given is as it was, except for the risk that is allowed.

    A task may change until the first trial.
    """
    now = TaskDescription.of(task)
    changed = now.differences(header.task)
    if changed and folder.results():
        raise UserError(
            f"{folder.path} was learned with another {' and '.join(changed)}: continue with that task, or start a new "
            "run."
        )
    wanted = (given.settings or then.settings).replace(**given.changes)
    different = differences(then.settings, wanted, task.machine)
    different.pop(MAY_CHANGE, None)
    if given.seed not in (None, then.seed):
        different = {"seed": (then.seed, given.seed), **different}
    if different:
        name, (before, after) = next(iter(different.items()))
        raise UserError(
            f"{folder.path} was learned with {name} {before}, got {after}: leave --{name.replace('_', '-')}"
            f"{' and --inspected' if name in INSPECTED else ''} out, or start a new run."
        )
    settings = then.settings.replace(**{MAY_CHANGE: wanted.limits.max_risk})
    return dataclasses.replace(header, task=now), dataclasses.replace(then, settings=settings)
