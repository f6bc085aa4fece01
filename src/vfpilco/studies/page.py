"""The page of a study, in Markdown."""

from __future__ import annotations

from datetime import date

from vfpilco.common.versions import computer, versions
from vfpilco.studies.base import Study
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord


def commands(study: Study, records: list[RunRecord]) -> list[str]:
    """The commands that make these runs: one for every number of seeds."""
    names: dict[int, list[str]] = {}
    for group in groups(study, records):
        seeds = 1 + max(record.seed for record in group.records)
        names.setdefault(seeds, []).append(group.name)
    every = len(study.configurations)
    only = {seeds: "" if len(some) == every else f" --only {' '.join(some)}" for seeds, some in names.items()}
    return [f"vfpilco reproduce {study.name} --seeds {seeds}{only[seeds]}" for seeds in sorted(names, reverse=True)]


def page(study: Study, records: list[RunRecord], table: str) -> str:
    """The study's page: commands, table, figure, and the versions and the computer that drew it."""
    hours = sum(record.seconds for record in records) / 3600
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"""# {study.name}: {study.summary}

    {f"{chr(10)}    ".join(commands(study, records))}

{table}

![{study.summary}]({study.name}.png)

Every run is a line of [{study.file}]({study.file}): configuration, seed, settings, versions, machine, seconds, results.
{len(records)} runs, {hours:.1f} hours on one core each. Drawn on {date.today().isoformat()} with {packages};
{", ".join(f"{name} {value}" for name, value in vars(computer()).items())}.
"""
