"""The records of a study by configuration, each with its colour."""

from __future__ import annotations

from itertools import cycle
from typing import NamedTuple

from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.records import RunRecord

COLOURS = ("#c2410c", "#2563eb", "#0f766e", "#7c3aed", "#a16207", "#be185d", "#475569", "#65a30d", "#0891b2")


class Group(NamedTuple):
    """The runs of one configuration."""

    configuration: Configuration
    colour: str
    records: list[RunRecord]

    @property
    def name(self) -> str:
        """The name of the configuration."""
        return self.configuration.name

    @property
    def label(self) -> str:
        """Name and number of runs, for a legend."""
        return f"{self.name} ({len(self.records)} runs)"


def groups(study: Study, records: list[RunRecord]) -> list[Group]:
    """Every configuration that has been run, in the study's order."""
    found = []
    for configuration, colour in zip(study.configurations, cycle(COLOURS), strict=False):
        mine = [record for record in records if record.configuration == configuration.name]
        if mine:
            found.append(Group(configuration, colour, mine))
    return found
