"""Settings taken over from what recordings of a machine show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vfpilco.errors import UserError
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.inspection import inspect_recordings
from vfpilco.recordings.logs import read_recording, refuse
from vfpilco.sensors import description
from vfpilco.task import Task


def settings_from(files: Sequence[Path], task: Task) -> dict[str, Any]:
    """Memories, and a sensor where it can be told, that fit the machine in these files."""
    recordings = [read_recording(file, Channels.of(task)) for file in files]
    for recording in recordings:
        refuse(recording)
    seen = inspect_recordings(recordings)
    if seen.delay.logged_late:
        names = ", ".join(map(str, files))
        raise UserError(f"The inputs in {names} seem to be logged one line late: move them up by one line.")
    found = seen.suggested()
    sensor = {} if found["sensor"] is None else {"sensor": description(found["sensor"])}
    return {"m_q": found["m_q"], "m_u": found["m_u"], **sensor}
