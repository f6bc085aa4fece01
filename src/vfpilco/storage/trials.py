"""The executions of a run on disk: logs during a trial, CSV files afterwards."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.files import Damaged, read_file, write_file
from vfpilco.data.trial import Trial
from vfpilco.storage.folder import Folder
from vfpilco.storage.trialfile import (
    NoLog,
    TrialLog,
    end_line,
    is_complete,
    read_log,
    read_trial,
    trial_to_csv,
    true_columns,
    write_log,
)
from vfpilco.tasks.task import Task


class TrialFolder(Folder):
    """The part of a run folder that holds executions."""

    def open_log(self, index: int, task: Task) -> TrialLog:
        """The file that an execution is written to sample by sample; a test write makes sure that the disk has room."""
        trial, columns = self.inside(f"trials/.{index:03d}.tmp"), task.machine.columns
        write_file(trial, bytes(100 * (task.horizon + 10) * (len(columns) + 1)))
        trial.unlink()
        name = next(name for name in _partial_names(index) if not self.has(name))
        return TrialLog(self.inside(name), columns, task.machine.sampling_time)

    def finished_trial(self, index: int, task: Task, trim: Callable[[Trial], Trial]) -> Trial | None:
        """Execution `index`, if it is finished; a log that is complete is moved to its place."""
        machine = task.machine
        d_q, d_u = len(machine.positions), len(machine.inputs)
        for name in itertools.takewhile(self.has, _partial_names(index)):
            with self.explaining_damage():
                path = self.inside(name)
                trial, complete = read_log(path, d_q, d_u, machine.sampling_time), is_complete(path)
            if complete:
                if not self.has(f"trials/{index:03d}.csv"):
                    self.add_trial(index, trim(trial), machine.columns)
                path.unlink()
        return self.trial(index, d_q) if self.has(f"trials/{index:03d}.csv") else None

    def add_trial(self, index: int, trial: Trial, columns: list[str]) -> None:
        """Write a finished execution."""
        samples = trial_to_csv(trial.q, trial.u, trial.sampling_time, columns)
        known = [rows for rows in (trial.true, trial.velocity) if rows is not None]
        if known:
            empty, names = np.empty((trial.steps, 0)), true_columns(columns[: trial.q.shape[1]], len(known))
            true = trial_to_csv(np.concatenate(known, axis=1), empty, trial.sampling_time, names)
            self.write_with_checksum(f"trials/{index:03d}.true.csv", true.encode())
        else:  # An execution that was interrupted here before may have left some.
            for end in ("true.csv.sha256", "true.csv"):
                self.inside(f"trials/{index:03d}.{end}").unlink(missing_ok=True)
        content = samples + end_line(trial.ended, trial.reached)
        self.write_with_checksum(f"trials/{index:03d}.csv", content.encode())

    def save_trial(self, index: int, trial: Trial, task: Task, log: NoLog | None = None) -> None:
        """Keep an execution that has just finished, even if the disk is full."""
        columns = task.machine.columns
        try:
            self.add_trial(index, trial, columns)
        except OSError as error:
            if not isinstance(log, TrialLog):
                raise
            log.close()
            kept = log.path
            if not log.complete:
                kept = Path(tempfile.mkdtemp(prefix="vfpilco-")) / log.path.name
                write_log(kept, trial, columns)
            copy = f", copy it to {log.path}" if kept != log.path else ""
            raise UserError(
                f"Execution {index} is finished but could not be written to {self.path} ({error.strerror or error}); "
                f"it is saved as {kept}: make room{copy} and continue with --resume."
            ) from error
        if isinstance(log, TrialLog):
            log.remove()

    def save_sample_times(self, index: int, csv: str) -> None:
        """Keep when every sample of an execution arrived; a disk error loses nothing else."""
        with contextlib.suppress(OSError):
            write_file(self.inside(f"trials/{index:03d}.timing.csv"), csv)

    def trial(self, index: int, positions: int) -> Trial:
        """A finished execution; the first `positions` columns after t are positions."""
        with self.explaining_damage():
            self.checked(f"trials/{index:03d}.csv")
            trial = read_trial(self.verified(f"trials/{index:03d}.csv"), positions)
            if self.has(f"trials/{index:03d}.true.csv") or self.has(f"trials/{index:03d}.true.csv.sha256"):
                self.checked(f"trials/{index:03d}.true.csv")
                path = self.verified(f"trials/{index:03d}.true.csv")
                columns = read_file(path).split(b"\n")[0].count(b",")
                true = read_trial(path, columns).q
                if true.shape not in (trial.q.shape, (len(trial.q), 2 * positions)):
                    raise Damaged(f"{path} has {len(true)} rows of {columns} columns, which does not fit its trial")
                known = [true[:, i : i + positions] for i in range(0, columns, positions)]
                trial = replace(trial, **dict(zip(("true", "velocity"), known, strict=False)))
            return trial


def _partial_names(index: int) -> Iterator[str]:
    yield f"trials/{index:03d}.partial.csv"
    for i in itertools.count(2):
        yield f"trials/{index:03d}.partial-{i}.csv"
