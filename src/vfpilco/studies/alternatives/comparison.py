"""Comparing: missing attempts are made, finished ones are kept, table and figure are drawn from all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from vfpilco.common.checks import check_integer
from vfpilco.common.errors import unknown
from vfpilco.common.files import write_file
from vfpilco.data.records import from_json_types
from vfpilco.studies.alternatives.methods import METHODS, TASKS
from vfpilco.studies.alternatives.page import draw, page, table
from vfpilco.studies.alternatives.records import AlternativeRecord
from vfpilco.studies.engines import Attendance, free_cores, pinned
from vfpilco.studies.records import append, read_lines

NAME = "alternatives"
SUMMARY = "other methods on the same machines, from the same positions, until their first success"
SEEDS = 5
"""Attempts of every method on every task, if it is not given."""


@dataclass(frozen=True)
class Wanted:
    """An attempt that is part of the comparison."""

    method: str
    task: str
    seed: int

    @property
    def name(self) -> str:
        """What it is, in one word."""
        return f"{self.task}-{self.method}-seed{self.seed}"

    def is_of(self, record: AlternativeRecord) -> bool:
        """Whether `record` is of this attempt."""
        return (record.method, record.task, record.seed) == (self.method, self.task, self.seed)


class ComparisonWatcher:
    """Receives the progress of a comparison. Override the methods you need."""

    def begin(self, total: int, missing: int) -> None:
        """The comparison begins: how many attempts it has, and how many of them have to be made."""

    def attempted(self, name: str, record: AlternativeRecord | None, problem: str) -> None:
        """An attempt ended, with a record or with a problem."""


@dataclass(frozen=True)
class Compared:
    """The current state of the comparison."""

    records: list[AlternativeRecord]
    """The finished attempts."""
    failed: list[str]
    """The names of those that failed this time."""
    table: str = ""
    """The table, in Markdown; empty if no attempt has finished."""
    files: tuple[Path, ...] = ()
    """The page and the figure."""


def wanted(seeds: int, only: tuple[str, ...] = ()) -> list[Wanted]:
    """Every attempt, seed by seed, so that all methods grow together.

    Raises:
        UserError: If there is no such method.
    """
    check_integer("seeds", seeds, 1)
    for name in only:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    return [
        Wanted(name, task, seed)
        for seed in range(seeds)
        for name, method in METHODS.items()
        for task in TASKS
        if task in method.tasks and (not only or name in only)
    ]


def compare(
    *,
    results: Path,
    seeds: int = SEEDS,
    only: tuple[str, ...] = (),
    workers: int | None = None,
    watch: ComparisonWatcher | None = None,
    attempt: Callable[[Wanted, int, Attendance], AlternativeRecord | str] | None = None,
) -> Compared:
    """Make the missing attempts, record each as soon as it has finished, and draw table and figure.

    Args:
        results: The folder for the results file, the page and the figure.
        seeds: How many attempts every method has, with seeds 0, 1, …
        only: The names of the methods; all if empty.
        workers: How many attempts are made in parallel; one per core if not given.
        watch: Is informed about progress.
        attempt: Makes an attempt on a core; in a process of its own if not given.

    Raises:
        UserError: If an argument is wrong, a package is missing, or the results file is damaged.
    """
    if workers is not None:
        check_integer("workers", workers, 1)
    file, watch, failed = results / f"{NAME}.jsonl", watch or ComparisonWatcher(), []
    records, every = read_lines(file, AlternativeRecord), wanted(seeds, only)
    missing = [one for one in every if not any(one.is_of(record) for record in records)]
    for name in {one.method for one in missing}:
        METHODS[name].check()
    watch.begin(len(every), len(missing))
    cores, attendance = free_cores(workers), Attendance()

    def on_a_core(one: Wanted) -> AlternativeRecord | str:
        core = cores.get()
        try:
            return (attempt or in_process)(one, core, attendance)
        finally:
            cores.put(core)

    with ThreadPoolExecutor(cores.qsize()) as pool:
        pending: dict[Future[AlternativeRecord | str], Wanted] = {pool.submit(on_a_core, one): one for one in missing}
        try:
            for future in as_completed(pending):
                found, name = future.result(), pending[future].name
                if isinstance(found, str):
                    failed.append(name)
                    watch.attempted(name, None, found)
                    continue
                append(file, found)
                records.append(found)
                watch.attempted(name, found, "")
        finally:
            for future in pending:
                future.cancel()
            attendance.end()
    return Compared(records, failed, *_drawn(records, results)) if records else Compared([], failed)


def in_process(one: Wanted, core: int, attendance: Attendance) -> AlternativeRecord | str:
    """Make an attempt in a process of its own, pinned to a core; its record, or what went wrong."""
    program = [sys.executable, "-m", "vfpilco.studies.alternatives.worker", one.method, one.task, str(one.seed)]
    done = attendance.execute(pinned(program, core))
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    if done.returncode or not lines:
        return lines[-1] if lines else f"exit code {done.returncode}"
    return from_json_types(json.loads(lines[-1]), AlternativeRecord)


def _drawn(records: list[AlternativeRecord], results: Path) -> tuple[str, tuple[Path, Path]]:
    text, figure = results / f"{NAME}.md", results / f"{NAME}.png"
    draw(records, figure)
    write_file(text, page(NAME, SUMMARY, records))
    return table(records), (text, figure)
