"""Settings of a task that fit recordings of its machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfpilco.common.errors import UserError
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.formats.base import Columns
from vfpilco.recordings.inspection import inspect_recordings
from vfpilco.recordings.logs import read_recordings, refuse
from vfpilco.tasks.sensors import Sensor, TimingJitter
from vfpilco.tasks.task import Task


@dataclass(frozen=True)
class InspectedSettings:
    """Memories and a sensor that fit recordings of a machine."""

    m_q: int
    m_u: int
    sensor: Sensor | None
    """The sensor without timing jitter; None if it is unknown."""
    jitter: TimingJitter | None = None
    """The timing jitter of the task's sensor, which is kept; None if it has none."""

    def keywords(self) -> dict[str, Any]:
        """These settings as keyword arguments of `learn`; the sensor is left out if it is unknown."""
        memories = {"m_q": self.m_q, "m_u": self.m_u}
        if self.sensor is None:
            return memories
        sensor = self.sensor if self.jitter is None else dataclasses.replace(self.jitter, sensor=self.sensor)
        return {**memories, "sensor": sensor}


def settings_from(files: Sequence[Path], task: Task, columns: Columns | None = None) -> InspectedSettings:
    """Memories and a sensor that fit the machine in these recordings.

    Args:
        files: CSV, MATLAB, Parquet or MCAP files, a trial each.
        task: The task that they are recordings of.
        columns: Columns that have other names in the files.

    Raises:
        UserError: If a file cannot be learned from, or its inputs seem to be logged one line late.
    """
    recordings = [read_recordings(file, Channels.of(task), columns)[0] for file in files]
    for recording in recordings:
        refuse(recording)
    inspection = inspect_recordings(recordings)
    if inspection.delay.logged_late:
        names = ", ".join(map(str, files))
        raise UserError(f"The inputs in {names} seem to be logged one line late: move them up by one line.")
    found, own = inspection.suggestion(), task.machine.sensor
    return InspectedSettings(found.m_q, found.m_u, found.sensor, own if isinstance(own, TimingJitter) else None)
