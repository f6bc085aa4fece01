"""Executions as CSV files: whole ones, and those that are written sample by sample."""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path

import numpy as np

from vfpilco.files import Damaged, read_whole
from vfpilco.trial import Trial


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


def read_trial(path: Path, positions: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions, inputs and sampling time of a whole execution, to the bit."""
    try:
        rows = list(csv.reader(io.StringIO(read_whole(path).decode())))[1:]
        t = [float(row[0]) for row in rows]
        q = np.array([[float(value) for value in row[1 : 1 + positions]] for row in rows])
        u = np.array([[float(value) for value in row[1 + positions :]] for row in rows[:-1]])
        if len(t) < 2 or q.shape != (len(t), positions) or u.ndim != 2:
            raise ValueError("rows are missing")
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(u)) and math.isfinite(t[1] - t[0])):
            raise ValueError("it has values that are not finite")
    except (ValueError, IndexError, csv.Error) as error:
        raise Damaged(f"{path} is not a trial of ours or is damaged ({error})") from error
    return q, u, t[1] - t[0]


class TrialLog:
    """An execution on its way to the disk: a row per sample, so that one cut off is kept up to there.

    Trouble with the disk does not disturb the plant: it is remembered in `failed`.
    """

    def __init__(self, path: Path, columns: list[str], sampling_time: float) -> None:
        self.path, self.columns, self.sampling_time = path, columns, sampling_time
        self.handle: int | None = None
        self.failed = False

    def add(self, i: int, q: np.ndarray, u: np.ndarray | None, true: np.ndarray | None) -> None:
        """Sample `i`, the inputs applied on it (None for the last sample), and the true positions where known."""
        row = _row(i * self.sampling_time, q, u, len(self.columns) - len(q))
        if true is not None:
            row += [f"{value:.17g}" for value in true]
        line = ",".join(row)
        try:
            if self.handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                names = self.columns + ([f"true {name}" for name in self.columns[: len(q)]] if true is not None else [])
                line = f"{','.join(['t', *names])}\n{line}"
            data = f"{line}\n".encode()
            self.failed = self.failed or os.write(self.handle, data) != len(data)
        except OSError:
            self.failed = True

    def close(self) -> None:
        """Nothing more will come."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def remove(self) -> None:
        """The execution is kept elsewhere, whole."""
        self.close()
        self.path.unlink(missing_ok=True)


def read_log(path: Path, positions: int, inputs: int, sampling_time: float) -> Trial:
    """What a `TrialLog` wrote, up to where it was cut off."""
    q, u, true = [], [], []
    width = 1 + positions + inputs
    for line in read_whole(path).split(b"\n")[1:-1]:
        try:
            cells = [float(cell) if cell else math.nan for cell in line.decode().split(",")]
        except ValueError:
            break
        if len(cells) not in (width, width + positions) or not np.all(np.isfinite(cells[: 1 + positions])):
            break
        q.append(cells[1 : 1 + positions])
        u.append(cells[1 + positions : width])
        true.append(cells[width:])
    known = bool(true) and all(len(row) == positions for row in true)
    return Trial(
        np.array(q).reshape(-1, positions),
        np.array(u[:-1]).reshape(-1, inputs),
        sampling_time,
        np.array(true) if known else None,
    )
