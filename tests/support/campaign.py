"""Long campaigns: cases are bounded in number and time, and their counts are printed, and kept in a file."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_PROBLEMS = 20
"""A campaign ends after so many."""


class Campaign:
    """Cases with the seeds 0, 1, …; `check` fails if there was a problem or time ran out.

    With the environment variable VFPILCO_CAMPAIGN, a folder, the counts so far are in a file there at any time.
    """

    def __init__(self, name: str, cases: int, hours: float) -> None:
        self.name, self.cases, self.hours = name, cases, hours
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.begun, self.done, self.written = time.monotonic(), 0, 0.0

    def seeds(self) -> Iterator[int]:
        """The seed of every case, until all are done or time is over."""
        for seed in range(self.cases):
            if time.monotonic() - self.begun > 3600 * self.hours or len(self.problems) >= MOST_PROBLEMS:
                break
            yield seed
            self.done = seed + 1
            if time.monotonic() - self.written > 10:
                self.write()

    def note(self, text: str) -> None:
        """Keep a remark for the report."""
        self.notes.append(text)

    def problem(self, text: str) -> None:
        """Keep what went wrong in a case."""
        self.problems.append(text)
        self.write()

    def report(self) -> str:
        """What was done so far."""
        seconds = time.monotonic() - self.begun
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        lines = [f"{self.name}: {self.done} of {self.cases} cases in {seconds:.0f} s, {len(self.problems)} problems"]
        return "\n".join([*lines, *([counts] if counts else []), *self.notes, *self.problems])

    def write(self) -> None:
        self.written = time.monotonic()
        folder = os.environ.get("VFPILCO_CAMPAIGN")
        if folder:
            (Path(folder) / f"{self.name.replace(' ', '-')}.txt").write_text(f"{self.report()}\n")

    def check(self) -> None:
        """Print the counts; fail unless every case was done, without a problem."""
        self.write()
        print(self.report())
        assert not self.problems, self.report()
        assert self.done == self.cases, self.report()


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
