"""Trials as CSV files: finished ones, and those that are written sample by sample."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.files import Damaged, plain_json, read_file
from vfpilco.common.text import printable
from vfpilco.data.trial import LARGEST, Trial

CHECKSUM = b"sha256,"
"""Starts the last line of a trial that was logged to its end."""
END = b"# ended: "
"""Starts the line, a comment, that says why a trial ended early."""


def trial_to_csv(q: np.ndarray, u: np.ndarray, sampling_time: float, columns: list[str]) -> str:
    """T+1 rows of t, positions and inputs; the last row has no inputs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["t", *columns])
    for i, q_i in enumerate(q):
        writer.writerow(_row(i * sampling_time, q_i, u[i] if i < len(u) else None, u.shape[1]))
    return out.getvalue()


def _row(t: float, q: np.ndarray, u: np.ndarray | None, d_u: int) -> list[str]:
    return [f"{t:.17g}", *(f"{value:.17g}" for value in q), *([""] * d_u if u is None else (f"{v:.17g}" for v in u))]


def end_line(ended: str, reached: bool) -> str:
    """The line after the last sample: why a trial ended early, and whether it reached its goal; empty if it did not."""
    why = {"ended": printable(ended), "reached": reached}
    return f"{END.decode()}{json.dumps(why)}\n" if ended or reached else ""


def _end(line: bytes) -> dict[str, Any]:
    """What an `end_line` says, to be passed to `Trial`; `ValueError` if it is not one."""
    why = plain_json(line[len(END) :])
    known = isinstance(why, dict) and {name: type(value) for name, value in why.items()}
    if known != {"ended": str, "reached": bool}:
        raise ValueError("its last line does not say why it ended")
    return why


def true_columns(positions: list[str], known: int) -> list[str]:
    """The names of true positions (`known` of 1) and velocities too (2)."""
    return [f"{what} {name}" for what in ("true", "velocity of")[:known] for name in positions]


def read_trial(path: Path, positions: int) -> Trial:
    """A finished trial, to the bit."""
    try:
        content, end = read_file(path), {}
        samples, _, last = content.removesuffix(b"\n").rpartition(b"\n")
        if last.startswith(END):
            content, end = samples, _end(last)
        rows = list(csv.reader(io.StringIO(content.decode())))[1:]
        t = [float(row[0]) for row in rows]
        q = np.array([[float(value) for value in row[1 : 1 + positions]] for row in rows])
        u = np.array([[float(value) for value in row[1 + positions :]] for row in rows[:-1]])
        if len(t) < 2 or q.shape != (len(t), positions) or u.ndim != 2:
            raise ValueError("rows are missing")
        if not (np.all(np.abs(q) < LARGEST) and np.all(np.abs(u) < LARGEST) and 0 < t[1] - t[0] < LARGEST):
            raise ValueError("it has values that cannot have been measured")
    except (ValueError, IndexError, csv.Error) as error:
        raise Damaged(f"{path} is not a trial of vfpilco or is damaged ({error})") from error
    return Trial(q, u, t[1] - t[0], **end)


class NoLog:
    """A log that writes nothing."""

    def add(self, i: int, q: np.ndarray, u: np.ndarray | None, true: list[np.ndarray], end: str = "") -> None:
        """Write nothing."""

    def close(self) -> None:
        """Do nothing: no file was opened."""


class TrialLog(NoLog):
    """A trial on its way to the disk: a row per sample, so that an interrupted one is kept up to there.

    The last row is followed by the reason of an early end and by a checksum. A disk error does not disturb the plant;
    it leaves `complete` False.
    """

    def __init__(self, path: Path, columns: list[str], sampling_time: float) -> None:
        self.path, self.columns, self.sampling_time = path, columns, sampling_time
        self.handle: int | None = None
        self.complete = self.failed = False
        self.sum = hashlib.sha256()

    def add(self, i: int, q: np.ndarray, u: np.ndarray | None, true: list[np.ndarray], end: str = "") -> None:
        """Sample `i`, the inputs applied on it (None for the last), true positions and velocities where known.

        `end` is the `end_line` that follows the last sample.
        """
        row = _row(i * self.sampling_time, q, u, len(self.columns) - len(q))
        row += [f"{value:.17g}" for known in true for value in known]
        line = ",".join(row) + "\n" + end
        try:
            if self.handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                names = self.columns + true_columns(self.columns[: len(q)], len(true))
                line = f"{','.join(['t', *names])}\n{line}"
            self.sum.update(line.encode())
            data = f"{line}{_checksum_line(self.sum) if u is None else ''}".encode()
            self.failed = self.failed or os.write(self.handle, data) != len(data)
        except OSError:
            self.failed = True
        self.complete = u is None and not self.failed

    def close(self) -> None:
        """Finish writing."""
        if self.handle is not None:
            try:
                os.fsync(self.handle)
            except OSError:
                self.complete = False
            os.close(self.handle)
            self.handle = None

    def remove(self) -> None:
        """Delete the file: the trial has been stored."""
        self.close()
        self.path.unlink(missing_ok=True)


def write_log(path: Path, trial: Trial, columns: list[str]) -> None:
    """Write a finished trial as a `TrialLog` would have."""
    log = TrialLog(path, columns, trial.sampling_time)
    for i, q in enumerate(trial.q):
        known = [rows[i] for rows in (trial.true, trial.velocity) if rows is not None]
        last = i == trial.steps
        log.add(i, q, None if last else trial.u[i], known, end_line(trial.ended, trial.reached) if last else "")
    log.close()
    if not log.complete:
        raise OSError(f"{path} could not be written")


def read_log(path: Path, positions: int, inputs: int, sampling_time: float) -> Trial:
    """What a `TrialLog` wrote, up to where it was interrupted."""
    q, u, true, end = [], [], [], {}
    width = 1 + positions + inputs
    for line in read_file(path).split(b"\n")[1:-1]:
        try:
            if line.startswith(END):
                end = _end(line)
                break
            cells = [float(cell) if cell else math.nan for cell in line.decode().split(",")]
        except ValueError:
            break
        if len(cells) not in (width, width + positions, width + 2 * positions) or not np.all(
            np.isfinite(cells[: 1 + positions])
        ):
            break
        q.append(cells[1 : 1 + positions])
        u.append(cells[1 + positions : width])
        true.append(cells[width:])
    known = np.array(true).reshape(len(q), -1) if len({len(row) for row in true}) == 1 else np.empty((len(q), 0))
    return Trial(
        np.array(q).reshape(-1, positions),
        np.array(u[:-1]).reshape(-1, inputs),
        sampling_time,
        *(known[:, i : i + positions] for i in range(0, known.shape[1], positions)),
        **end,
    )


def is_complete(path: Path) -> bool:
    """Whether a `TrialLog` was written to its end, and the file was not changed since."""
    rows, mark, found = read_file(path).rpartition(CHECKSUM)
    return mark + found == _checksum_line(hashlib.sha256(rows)).encode()


def _checksum_line(checksum: Any) -> str:
    return f"{CHECKSUM.decode()}{checksum.hexdigest()}\n"
