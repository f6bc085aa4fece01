"""Running a study: what is missing is run, what is finished is kept, and the table and figure are made anew."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from vfpilco.errors import UserError, unknown
from vfpilco.files import write_whole
from vfpilco.settings import whole
from vfpilco.studies.base import Record, Study, jobs, settings_of
from vfpilco.studies.engines import ENGINES, Outcome
from vfpilco.versions import machine, versions


class Audience:
    """Hears how a study goes. Override what you want to know."""

    def begin(self, total: int, standing: int, missing: int) -> None:
        """So many runs in all; so many stand in the results already, so many are to be made."""

    def finished(self, outcome: Outcome, done: int, missing: int, left: float) -> None:
        """A run came to its end; the seconds that are left, at the pace so far."""


@dataclass
class Reproduced:
    """What there is of a study now."""

    study: Study
    records: list[Record]
    failed: list[Outcome]
    table: str
    files: list[Path]


def reproduce(
    study: Study,
    *,
    seeds: int = 50,
    out: Path,
    results: Path,
    engine: str = "local",
    workers: int | None = None,
    only: tuple[str, ...] = (),
    audience: Audience | None = None,
) -> Reproduced:
    """Make the runs of a study that `results` does not hold yet, keep each there as it is finished, and draw them."""
    whole("seeds", seeds, 1)
    if workers is not None:
        whole("workers", workers, 1)
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    names = [configuration.name for configuration in study.configurations]
    for name in only:
        if name not in names:
            raise unknown(f"configuration of {study.name}", name, names)
    audience = audience or Audience()
    file = results / study.file
    records = read(file)
    wanted = [job for job in jobs(study, seeds) if not only or job.configuration in only]
    missing = [job for job in wanted if not any(job.is_of(record) for record in records)]
    audience.begin(len(wanted), len(wanted) - len(missing), len(missing))
    failed, begun = [], time.monotonic()
    for done, outcome in enumerate(ENGINES[engine](missing, out, workers) if missing else (), start=1):
        if outcome.record is None:
            failed.append(outcome)
        else:
            records.append(outcome.record)
            write_whole(file, "".join(json.dumps(record) + "\n" for record in records))
        left = (time.monotonic() - begun) / done * (len(missing) - done)
        audience.finished(outcome, done, len(missing), left)
    mine = current(study, records)
    if not mine:
        return Reproduced(study, [], failed, "", [])
    table, files = study.table(study, mine), [results / f"{study.name}.md", results / f"{study.name}.png"]
    study.figure(study, mine, files[1])
    write_whole(files[0], page(study, mine, table))
    return Reproduced(study, mine, failed, table, files)


def read(file: Path) -> list[Record]:
    """The records of a results file."""
    try:
        lines = file.read_text().splitlines() if file.exists() else []
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({error}): mend or move it.") from error
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            if not {"configuration", "task", "trials", "seed", "settings", "results"} <= record.keys():
                raise ValueError("it is not a run")
        except (ValueError, AttributeError, RecursionError) as error:
            raise UserError(f"{file} is damaged in line {number} ({error}): mend or remove the line.") from error
        records.append(record)
    return records


def current(study: Study, records: list[Record]) -> list[Record]:
    """The records of this study's configurations with their settings as they are now."""
    settings = {configuration.name: study.settings(configuration) for configuration in study.configurations}
    return [
        record
        for record in sorted(records, key=lambda record: record["seed"])
        if record["task"] == study.task
        and record["trials"] == study.trials
        and settings.get(record["configuration"]) == settings_of(record)
    ]


def commands(study: Study, records: list[Record]) -> list[str]:
    """What makes these runs: a command for every number of seeds."""
    made: dict[int, list[str]] = {}
    for configuration in study.configurations:
        seeds = [record["seed"] for record in records if record["configuration"] == configuration.name]
        if seeds:
            made.setdefault(1 + max(seeds), []).append(configuration.name)
    every = len(study.configurations)
    only = {seeds: "" if len(names) == every else f" --only {' '.join(names)}" for seeds, names in made.items()}
    return [f"vfpilco reproduce {study.name} --seeds {seeds}{only[seeds]}" for seeds in sorted(made, reverse=True)]


def page(study: Study, records: list[Record], table: str) -> str:
    """The study's page: commands, table, figure, and where it was made."""
    here, seconds = machine(), sum(record.get("seconds", 0) for record in records)
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"""# {study.name}: {study.summary}

    {f"{chr(10)}    ".join(commands(study, records))}

{table}

![{study.summary}]({study.name}.png)

Every run stands in [{study.file}]({study.file}): configuration, seed, settings, versions, machine, seconds and results.
{len(records)} runs, {seconds / 3600:.1f} hours on one core each. Drawn on {date.today().isoformat()} with {packages};
{", ".join(f"{name} {value}" for name, value in here.items())}.
"""
