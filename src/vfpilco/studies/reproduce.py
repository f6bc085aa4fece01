"""Reproducing a study: missing runs are made, finished ones are kept, table and figure are drawn from all of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from vfpilco.common.checks import check_integer
from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError, unknown
from vfpilco.common.files import write_file
from vfpilco.studies.base import Study, current, jobs
from vfpilco.studies.engines import ENGINES, Outcome
from vfpilco.studies.page import page
from vfpilco.studies.records import RunRecord, append, read


class StudyWatcher:
    """Receives the progress of a study. Override the methods you need."""

    def begin(self, total: int, finished: int, missing: int) -> None:
        """The study begins.

        Args:
            total: How many runs it has.
            finished: How many of them are in the results already.
            missing: How many of them have to be made.
        """

    def run_finished(self, outcome: Outcome, done: int, missing: int, left: float) -> None:
        """A run ended.

        Args:
            outcome: How it ended.
            done: How many of the missing runs have ended.
            missing: How many runs were missing.
            left: Seconds until all have ended, estimated from the runs so far.
        """


@dataclass(frozen=True)
class Reproduced:
    """The current state of a study."""

    study: Study
    records: list[RunRecord]
    """The finished runs."""
    failed: list[Outcome]
    """The runs that failed this time."""
    table: str = ""
    """The table, in Markdown; empty if no run has finished."""
    files: tuple[Path, ...] = ()
    """The page and the figure."""


def reproduce(
    study: Study,
    *,
    seeds: int = 50,
    out: Path,
    results: Path,
    engine: str = "local",
    workers: int | None = None,
    only: tuple[str, ...] = (),
    watch: StudyWatcher | None = None,
) -> Reproduced:
    """Make the missing runs of a study, record each as soon as it has finished, and draw table and figure.

    Args:
        study: What to reproduce.
        seeds: How many runs every configuration has, with seeds 0, 1, …
        out: The folder for the runs.
        results: The folder for the results file, the page and the figure.
        engine: Where the runs are made: `local` or `ray`.
        workers: How many runs are made in parallel; one per core if not given.
        only: The names of the configurations to run; all if empty.
        watch: Is informed about progress.

    Returns:
        All finished runs, also those that were in the results file already, and the failed ones.

    Raises:
        UserError: If an argument is wrong, or the results file is damaged.
    """
    _check(study, seeds, engine, workers, only)
    configure()
    watch, file, failed = watch or StudyWatcher(), results / study.file, []
    records = read(file)
    wanted = [job for job in jobs(study, seeds) if not only or job.configuration.name in only]
    missing = [job for job in wanted if not any(job.is_of(record) for record in records)]
    watch.begin(len(wanted), len(wanted) - len(missing), len(missing))
    begun = time.monotonic()
    for done, outcome in enumerate(ENGINES[engine](missing, out, workers) if missing else (), start=1):
        if outcome.record is None:
            failed.append(outcome)
        else:
            append(file, outcome.record)
            records.append(outcome.record)
        left = (time.monotonic() - begun) / done * (len(missing) - done)
        watch.run_finished(outcome, done, len(missing), left)
    mine = current(study, records)
    if not mine:
        return Reproduced(study, [], failed)
    return Reproduced(study, mine, failed, *draw(study, mine, results))


def _check(study: Study, seeds: int, engine: str, workers: int | None, only: tuple[str, ...]) -> None:
    check_integer("seeds", seeds, 1)
    if workers is not None:
        check_integer("workers", workers, 1)
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if study.folder and not Path(study.folder).is_dir():
        raise UserError(
            f"The study {study.name!r} needs the task files in {study.folder}, which are not part of the installed "
            "package: run it in the folder of the repository."
        )
    names = [configuration.name for configuration in study.configurations]
    for name in only:
        if name not in names:
            raise unknown(f"configuration of {study.name}", name, names)


def draw(study: Study, records: list[RunRecord], results: Path) -> tuple[str, tuple[Path, Path]]:
    """Write page and figure of a study to the folder `results`; the table, and the two files."""
    table, text, figure = study.table(study, records), results / f"{study.name}.md", results / f"{study.name}.png"
    study.figure(study, records, figure)
    write_file(text, page(study, records, table))
    return table, (text, figure)
