"""The checks of recordings on a trial that was just executed."""

from __future__ import annotations

import numpy as np

from vfpilco.common.text import count
from vfpilco.data.trial import Trial
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.findings import Findings
from vfpilco.recordings.spikes import spikes
from vfpilco.recordings.values import check_constant, check_degrees
from vfpilco.tasks.task import Task

REMEDIES = {
    "degrees": "let reset and step return radians; numpy.radians converts degrees",
    "constant": "check that its sensor is connected",
}
"""What to do about each kind of error, for who writes the driver."""


def jumps(trial: Trial, task: Task) -> list[str]:
    """Where positions jump away and back, as no machine does, a sentence for each position."""
    found = []
    for position, column in zip(task.machine.positions, trial.q.T, strict=True):
        at = np.flatnonzero(spikes(column, position.angle)) if position.commanded is None else []
        if len(at):
            more = "" if len(at) == 1 else f" (and at {count(len(at) - 1, 'other sample')})"
            found.append(
                f"{position.name} jumps to {column[at[0]]:.4g} {position.unit} and back at sample {at[0]}{more}: "
                "check the sensor and its cable."
            )
    return found


def faults(trial: Trial, task: Task) -> list[str]:
    """What is wrong with the measurements of a trial, a sentence each; nothing if a machine can measure this."""
    channels, findings = Channels.of(task), Findings()
    for position, column in zip(channels.positions, trial.q.T, strict=True):
        check_degrees(position, column, 1, findings)
    check_constant(channels, trial.q, trial.u, 1, findings)
    errors = [finding for finding in findings.sorted() if finding.severity == "error"]
    found = [f"{error.sentence.split(': ')[0]}: {REMEDIES[error.kind]}." for error in errors]
    return [*found, *jumps(trial, task)]
