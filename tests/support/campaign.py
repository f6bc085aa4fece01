"""Campaigns: cases with a seed each, of which tests try a sample, and `make campaigns` as many as time allows."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import ledger

import vfpilco

MOST_PROBLEMS = 20
"""A campaign ends after so many."""
BATCH = 60.0
"""Seconds of cases that are recorded together."""

Case = Callable[[int], "str | None"]
"""Tries the case of a seed and returns what is wrong, or None. An exception is a problem too."""
Check = Callable[[], object]
"""Raises an error if the cases so far, together, have left something behind."""
Run = Callable[[Case, Check], None]
"""Tries cases, and fails if there was a problem."""


@dataclass
class Batch:
    """Cases with consecutive seeds."""

    first: int
    cases: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    @property
    def next(self) -> int:
        """The seed of the next case."""
        return self.first + self.cases

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def attempt(self, case: Case) -> None:
        self._attempt(self.next, case)
        self.cases += 1

    def check(self, afterwards: Check) -> None:
        def check(_: int) -> None:
            afterwards()

        self._attempt(self.next - 1, check)

    def _attempt(self, seed: int, case: Case) -> None:
        try:
            problem = case(seed)
        except Exception as error:
            problem = "".join(traceback.format_exception(error, limit=-4))
        if problem:
            self.problems.append((seed, problem[:2000]))


def nothing() -> None:
    """The check of cases that can leave nothing behind."""


def sample(cases: int) -> Run:
    """The cases with the seeds below `cases`."""

    def run(case: Case, afterwards: Check = nothing) -> None:
        batch = Batch(0)
        while batch.cases < cases and len(batch.problems) < MOST_PROBLEMS:
            batch.attempt(case)
        batch.check(afterwards)
        _report(f"{batch.cases} cases in {batch.seconds:.0f} s", batch.problems)

    return run


def campaign(name: str) -> Run:
    """As many cases as the time of this campaign allows, from the first seed that was never used; they are recorded.

    It ends earlier when it has its number of cases while others have not. The environment variable
    VFPILCO_CAMPAIGN_MINUTES is the time of all campaigns together. With VFPILCO_CAMPAIGN_SEED only the case of that
    seed is tried, and not recorded.
    """
    seconds = ledger.share(name, 60 * float(os.environ.get("VFPILCO_CAMPAIGN_MINUTES", "20")))
    chosen, ends, commit = os.environ.get("VFPILCO_CAMPAIGN_SEED"), time.monotonic() + seconds, ledger.commit()

    def run(case: Case, afterwards: Check = nothing) -> None:
        if chosen is not None:
            alone = Batch(int(chosen))
            alone.attempt(case)
            return _report(f"{name}: the case {chosen}", alone.problems)
        cases, problems = 0, []
        while time.monotonic() < ends and len(problems) < MOST_PROBLEMS and ledger.left(name):
            batch, most = Batch(ledger.next_seed(name)), ledger.left(name)
            ends_at = min(ends, batch.begun + BATCH)
            try:
                while time.monotonic() < ends_at and batch.cases < most and len(batch.problems) < MOST_PROBLEMS:
                    batch.attempt(case)
                batch.check(afterwards)
            finally:
                if batch.cases:
                    ledger.append(_record(name, batch, commit))
            cases, problems = cases + batch.cases, problems + batch.problems
        return _report(f"{name}: {cases} cases", problems)

    return run


def _record(name: str, batch: Batch, commit: str) -> ledger.Record:
    failures = len({seed for seed, _ in batch.problems})
    date, version = datetime.now(UTC).strftime("%Y-%m-%d"), vfpilco.__version__
    seconds = round(batch.seconds, 1)
    return ledger.Record(name, batch.first, batch.cases, failures, version, commit, date, seconds, batch.problems)


def _report(done: str, problems: list[tuple[int, str]]) -> None:
    print(f"{done}, {len(problems)} problems")
    assert not problems, "\n".join(f"seed {seed}: {text}" for seed, text in problems)


# -- what a process uses -------------------------------------------------------------------------------------------


def memory(pid: int | str = "self") -> float:
    """The resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def threads(pid: int | str = "self") -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def handles(pid: int | str = "self") -> int:
    """The number of open files of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def flat(numbers: Sequence[float], after: int, more: float) -> None:
    """Fail unless the last half of `numbers` exceeds what was reached by `after` by no more than `more`."""
    before, later = max(numbers[:after]), max(numbers[len(numbers) // 2 :])
    assert later <= before + more, f"from {before} to {later}: {list(numbers)}"
