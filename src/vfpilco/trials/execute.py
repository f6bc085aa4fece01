"""Running one trial on the plant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from vfpilco.common import interrupts
from vfpilco.common.errors import UserError, describe_exception
from vfpilco.data.failures import Interrupted, NotStopped, PlantError
from vfpilco.data.trial import Trial, unwrap
from vfpilco.plants.addresses import find
from vfpilco.plants.serve import BY_HAND
from vfpilco.plants.serve.watchdog import WatchedMotion
from vfpilco.policy.limits import Slew
from vfpilco.storage.trialfile import NoLog, end_line
from vfpilco.tasks.plant import Closeable, EndsEarly, ExplainsEnd, KnowsPositions, KnowsVelocities, Plant
from vfpilco.tasks.task import Task
from vfpilco.trials.punctuality import Punctuality, undisturbed
from vfpilco.trials.watchdog import watched

Controller = Callable[[np.ndarray], np.ndarray]
"""Called with every measurement as it comes in, returns the inputs to apply."""


@dataclass(frozen=True)
class Conditions:
    """How a trial is run."""

    full_state: bool = False
    """Whether the controller receives the true positions and velocities of a simulated plant, or measured positions."""
    slew: Slew | None = None
    """How fast inputs may change."""
    punctuality: Punctuality | None = None
    """Monitors when every sample arrives."""
    monitor: Callable[[np.ndarray], str | None] | None = None
    """Called with every measurement; a reason to stop ends the trial."""
    log: NoLog = field(default_factory=NoLog)
    """Receives every sample as it comes."""


def connect(task: Task) -> Plant:
    """Make the task's plant, or connect to it."""
    try:
        plant = find(task)
        missing = [name for name in ("reset", "step", "stop") if not callable(getattr(plant, name, None))]
        if missing:
            raise PlantError(
                f"The plant of task {task.name!r}, a {type(plant).__name__}, has no method {' and no '.join(missing)}: "
                "give it reset, step and stop."
            )
        return plant
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # A driver may also try to end the program.
        raise PlantError(
            f"The plant of task {task.name!r} could not be made or reached ({describe_exception(error)})."
        ) from error


@contextmanager
def connected(task: Task) -> Iterator[Plant]:
    """The task's plant, which is closed afterwards if it can be."""
    plant = connect(task)
    try:
        yield plant
    except BaseException:
        with suppress(Exception, SystemExit):  # What happened before is more important.
            _close(plant)
        raise
    _close(plant)


def _close(plant: Plant) -> None:
    if isinstance(plant, Closeable):
        plant.close()


def execute(task: Task, plant: Plant, controller: Controller, seed: int, conditions: Conditions | None = None) -> Trial:
    """Run `controller` on the plant for one trial; inputs are kept to their limits and the plant is always stopped.

    Raises:
        PlantError: If the plant fails; `partial` holds what was recorded until then.
        NotStopped: If it could not be stopped, likewise.
        Interrupted: On Ctrl-C, likewise.
    """
    conditions = conditions or Conditions()
    rules = None if conditions.punctuality is None else conditions.punctuality.rules
    recorded, motion = Recording(task, plant, conditions), watched(plant, rules, task.machine.sampling_time)
    work = partial(motion.drive, partial(_drive, recorded, motion, controller, seed))
    try:
        if conditions.punctuality is None:
            work()
        else:
            undisturbed(work)
    except BaseException as error:  # Here the plant has been stopped, or could not be.
        problem = _failure(recorded, motion, error)
        if problem is error:
            raise
        raise problem from error
    return trimmed(task, recorded.trial())


def _failure(recorded: Recording, motion: WatchedMotion, error: BaseException) -> BaseException:
    """What to raise for what ended a trial."""
    name, partial = f"The plant of task {recorded.task.name!r}", recorded.trial()
    if motion.failure is not None:
        reason, before = motion.failure.__cause__, motion.failure.__context__
        said = str(reason).split(": ")[0] if isinstance(reason, UserError) else describe_exception(reason or error)
        why = "" if before is None else f" {_sentence(recorded, motion, before)}"
        return NotStopped(f"{BY_HAND}: {name[0].lower()}{name[1:]} could not be stopped ({said}).{why}", partial)
    if motion.hung:
        return PlantError(_sentence(recorded, motion, error), partial)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("The trial was interrupted.", partial)
    if error is motion.interruption or not (isinstance(error, Exception) or error is recorded.failure):
        return error  # raised by a signal handler of the user's, which may also exit
    problem = error if isinstance(error, PlantError) else PlantError(_sentence(recorded, motion, error))
    problem.partial = partial
    return problem


def _sentence(recorded: Recording, motion: WatchedMotion, error: BaseException) -> str:
    """What ended a trial, for a person."""
    if motion.hung:
        return (
            f"The plant of task {recorded.task.name!r} hung at sample {len(recorded.q)} ({motion.hung}): the machine "
            "was stopped by another thread. Fix the driver, or allow more time in the task's RealTime."
        )
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "The trial was interrupted."
    return (
        f"The plant of task {recorded.task.name!r} failed at sample {len(recorded.q)} ({describe_exception(error)}): "
        "fix it."
    )


def _drive(recorded: Recording, motion: WatchedMotion, controller: Controller, seed: int) -> None:
    """Run the trial; if it fails, remember why."""
    motion.begin()
    try:
        _loop(recorded, motion, controller, seed)
    except BaseException as error:
        recorded.failure = error
        raise


def _loop(recorded: Recording, motion: WatchedMotion, controller: Controller, seed: int) -> None:
    """Measure, compute inputs, apply them, until the trial ends."""
    task, plant, conditions = recorded.task, recorded.plant, recorded.conditions
    punctuality = conditions.punctuality
    motion.expect("reset")
    recorded.add(plant.reset(seed))
    motion.expect("controller")
    outside = task.machine.outside(recorded.q[0]) or recorded.monitor()
    if outside:
        raise PlantError(f"The plant of task {task.name!r} starts where it may not be: {outside}. Nothing was applied.")
    for _ in range(task.horizon):
        interrupts.check()
        if punctuality:
            punctuality.measured()
        u = recorded.limited(controller(recorded.true_state if conditions.full_state else recorded.q[-1].copy()))
        if punctuality:
            punctuality.answered()
        recorded.apply(u)
        motion.expect("step")
        measured = plant.step(u.copy())  # A driver may keep what it is given, or change it.
        motion.expect("controller")
        motion.check()  # After a hang the machine has been stopped: this sample does not belong to the trial.
        recorded.add(measured)
        if recorded.monitor() or task.ended(recorded.q[-1]) or recorded.terminated:
            break
    if punctuality:
        punctuality.measured()
    recorded.finish()


def trimmed(task: Task, trial: Trial) -> Trial:
    """A trial without the sample that ended it early, if there are others."""
    why = task.ended(trial.q[-1]) if trial.steps > 1 else None
    if why is None:
        return trial
    reached = task.end_is_success and task.machine.outside(trial.q[-1]) is None
    return replace(trial.first(trial.steps - 1), ended=why, reached=reached)


class Recording:
    """What has been measured and applied so far in a trial; rejects invalid measurements and inputs."""

    def __init__(self, task: Task, plant: Plant, conditions: Conditions) -> None:
        self.task, self.plant, self.conditions = task, plant, conditions
        self.truth: KnowsPositions | None = None
        self.speed: KnowsVelocities | None = None
        self.q: list[np.ndarray] = []
        self.u: list[np.ndarray] = []
        self.true: list[np.ndarray] = []
        self.velocity: list[np.ndarray] = []
        self.failure: BaseException | None = None
        self.stopped = ""
        self.reached = False
        self.low, self.high = np.array([p.plausible_range for p in task.machine.positions]).T

    def add(self, measured: np.ndarray | None) -> None:
        """Keep a measurement; angles are unwrapped."""
        machine, angles = self.task.machine, self.task.machine.angles
        names = ", ".join(p.name for p in machine.positions)
        plant, sample = f"The plant of task {self.task.name!r}", f"at sample {len(self.q)}"
        if measured is None:
            raise PlantError(f"{plant} returned nothing {sample}: let reset and step return the measured {names}.")
        measured = np.array(measured, dtype=float)
        if measured.shape != (len(machine.positions),):
            raise PlantError(
                f"{plant} returned positions of shape {measured.shape} {sample} instead of "
                f"({len(machine.positions)},): return {names}."
            )
        if not np.all((self.low <= measured) & (measured <= self.high)):  # neither NaN nor infinite nor absurd
            raise PlantError(
                f"{plant} returned {machine.implausible(measured)} {sample} "
                f"(t = {len(self.q) * machine.sampling_time:.3g} s): check the sensor."
            )
        if not self.q:
            self._find_truth()
        self.q.append(unwrap(measured, self.q[-1], angles) if self.q else measured)
        if self.truth is not None:
            true = np.array(self.truth.true_positions, dtype=float)
            self.true.append(unwrap(true, self.q[-1], angles))
        if self.speed is not None:
            self.velocity.append(np.array(self.speed.true_velocities, dtype=float))

    def _find_truth(self) -> None:
        """Find out what the plant knows about its true state: after the reset, because it may know nothing before."""
        plant = self.plant
        self.truth = plant if isinstance(plant, KnowsPositions) else None
        self.speed = plant if self.truth is not None and isinstance(plant, KnowsVelocities) else None

    def monitor(self) -> str:
        """Why the trial is stopped at the latest measurement, which is then its last one; empty if it is not."""
        if self.conditions.monitor is not None:
            self.stopped = self.conditions.monitor(self.q[-1]) or ""
        return self.stopped

    @property
    def terminated(self) -> bool:
        """Whether the plant ended the trial."""
        return isinstance(self.plant, EndsEarly) and bool(self.plant.terminated)

    def finish(self) -> None:
        """The latest sample was the last one: log it, with the reason that the plant gives if it has ended the trial.

        What the task ended is found by `trimmed`.
        """
        plant = self.plant
        if not self.stopped and len(self.u) < self.task.horizon and isinstance(plant, ExplainsEnd) and plant.ended:
            self.stopped, self.reached = plant.ended, self.task.end_is_success and not plant.truncated
        self.keep(None)

    def limited(self, u: np.ndarray) -> np.ndarray:
        """The inputs within their limits, and within the slew limit around the last ones."""
        u, limits = np.asarray(u, dtype=float), self.task.machine.limits
        if u.shape != limits.shape or not np.all(np.isfinite(u)):
            raise PlantError(
                f"The controller gave {u.tolist()} at sample {len(self.q) - 1} where {len(limits)} finite inputs were "
                "expected: nothing was applied."
            )
        if self.conditions.slew is not None:
            u = self.conditions.slew(u, self.u[-1] if self.u else np.zeros_like(u))
        return np.clip(u, -limits, limits)

    def apply(self, u: np.ndarray) -> None:
        """These inputs are going to be applied."""
        self.u.append(u)
        self.keep(u)

    def keep(self, u: np.ndarray | None) -> None:
        """Log the latest sample, with the inputs that are applied on it."""
        true = [known[-1] for known in (self.true, self.velocity) if known]
        end = end_line(self.stopped, self.reached) if u is None else ""
        self.conditions.log.add(len(self.q) - 1, self.q[-1], u, true, end)

    @property
    def true_state(self) -> np.ndarray:
        """True positions and velocities at the latest sample."""
        return np.concatenate([self.true[-1], self.velocity[-1]])

    def trial(self) -> Trial:
        """What was recorded: one measurement more than inputs, even where the plant failed in between."""
        machine = self.task.machine
        d_q, d_u = len(machine.positions), len(machine.inputs)
        u = self.u[: max(len(self.q) - 1, 0)]
        known = [np.array(rows[: len(self.q)]) if rows else None for rows in (self.true, self.velocity)]
        q, u = np.array(self.q).reshape(-1, d_q), np.array(u).reshape(-1, d_u)
        return Trial(q, u, machine.sampling_time, *known, ended=self.stopped, reached=self.reached)
