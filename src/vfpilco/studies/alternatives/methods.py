"""The methods that are compared, and the tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from vfpilco.common.configuration import configure
from vfpilco.common.errors import unknown
from vfpilco.common.versions import computer, versions
from vfpilco.studies.alternatives import by_hand, model_free, ours, planning
from vfpilco.studies.alternatives.records import AlternativeRecord, Attempt

TASKS = ("cartpole", "furuta", "ballplate")


@dataclass(frozen=True)
class Method:
    """A method that is compared."""

    run: Callable[[str, int], Attempt]
    """Tries a task with a seed."""
    words: str
    """What it is, for the page."""
    algorithm: str = ""
    """The algorithm of Stable-Baselines3 that it is, if it is one."""
    tasks: tuple[str, ...] = TASKS

    def check(self) -> None:
        """Raise a `UserError` if a package that it needs is missing."""
        if self.algorithm:
            model_free.learner(self.algorithm)

    @property
    def packages(self) -> dict[str, str]:
        """The versions of its own packages."""
        return {name: version(name) for name in model_free.PACKAGES} if self.algorithm else {}


METHODS: dict[str, Method] = {
    "vfpilco": Method(ours.learn, "this package with its default settings"),
    "mpc": Method(planning.learn, "model-predictive control by the cross-entropy method on the same GPs"),
    "sac": Method(partial(model_free.learn, "sac"), "SAC of Stable-Baselines3", "sac"),
    "tqc": Method(partial(model_free.learn, "tqc"), "TQC of sb3-contrib", "tqc"),
    "by-hand": Method(by_hand.run, "a hand-designed controller", tasks=tuple(by_hand.CONTROLLERS)),
}
"""The methods by name."""


def record(method: str, task: str, seed: int) -> AlternativeRecord:
    """Try a task by a method, and record it.

    Raises:
        UserError: If there is no such method, or one of its packages is missing.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    configure()
    chosen = METHODS[method]
    chosen.check()
    attempt = chosen.run(task, seed)
    return AlternativeRecord(method, task, seed, attempt, {**versions(), **chosen.packages}, computer())
