"""The method itself, with its default settings, until its first success."""

from __future__ import annotations

import time

from vfpilco.data.results import TrialResult
from vfpilco.studies.alternatives.records import Attempt
from vfpilco.studies.worker import Silent
from vfpilco.trials.learn import learn as learn_run

TRIALS = 10
"""The most trials."""


class _Solved(Exception):
    """The first success."""


class UntilSuccess(Silent):
    """Ends a run at its first success, and keeps its results."""

    def __init__(self) -> None:
        self.rows: list[TrialResult] = []

    def executed(self, result: TrialResult) -> None:
        """Keep an execution; the run ends if it was one of a policy and succeeded."""
        self.rows.append(result)
        if result.kind == "policy" and result.success:
            raise _Solved


def learn(task: str, seed: int, trials: int = TRIALS) -> Attempt:
    """Learn a task with the default settings until a trial succeeds, at most so many trials."""
    begun, watch = time.monotonic(), UntilSuccess()
    try:
        run = learn_run(task, seed=seed, trials=trials, watch=watch)
        experience = sum(trial.duration for trial in run.trials)
    except _Solved:
        experience = watch.rows[-1].experience_s
    solved = watch.rows[-1].success
    return Attempt(solved, experience, (time.monotonic() - begun) / 60, len(watch.rows))
