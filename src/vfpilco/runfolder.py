"""The run folder: everything a run leaves behind, in files that other programs can read.

| file                             | content                                                                  |
|----------------------------------|--------------------------------------------------------------------------|
| run.json                         | task, settings, seed, versions                                           |
| results.jsonl                    | a line per execution on the plant                                        |
| timings.jsonl                    | all times; nothing else but the report holds one                         |
| report.html                      | a page that shows the run                                                |
| trials/000.csv …                 | every execution: t, positions as measured, inputs as applied             |
| policies/001.safetensors …       | the policy of trial 1, 2, …; policy.safetensors is the last one          |
| models/001.safetensors …         | hyperparameters and posterior behind policy 1, 2, …                      |
| optimisations/001.safetensors …  | the expected cost at every gradient step                                 |
| predictions/001.safetensors …    | the particles that predicted trial 1, 2, …                               |
| trials/000.timing.csv …          | when every sample came, of a machine that is driven in real time         |
| checkpoint.safetensors           | where the running optimisation stands                                    |

One learner at a time writes to a folder. A file is whole or absent, and sealed with a checksum; a file that something
else put there (a link, a pipe, another length, other bits) is refused by name.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.files import FORMAT, Damaged, from_json, read_arrays, read_whole, to_json, write_arrays, write_whole
from vfpilco.realtime import Punctuality
from vfpilco.trial import Trial
from vfpilco.trialfile import TrialLog, is_whole, read_log, read_trial, trial_to_csv, true_columns, write_log

LOCK, HOLDER = ".lock", ".running.json"
LEFTOVER = ".*.tmp"
KINDS = ("models", "optimisations", "policies", "predictions")
"""The folders with a file for every trial."""


class RunFolder:
    """One run on disk; every method writes whole files only."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def inside(self, name: str) -> Path:
        """The path of a file of this folder; refuses to go through a link, which may lead anywhere."""
        path = self.path
        for part in Path(name).parts:
            path = path / part
            if path.is_symlink():
                raise Damaged(f"{path} is a link, and a run folder has none")
        return path

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return os.path.lexists(self.path / name)

    # -- one learner at a time -----------------------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from learning in this folder; the lock is the system's and ends with the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.inside(LOCK))
        try:
            lock.acquire(timeout=1)
        except Timeout:
            raise UserError(f"{self.path} is in use by {self.holder()}: wait for it, or stop it.") from None
        try:
            for leftover in self.path.rglob(LEFTOVER):  # of a write that was cut off
                leftover.unlink(missing_ok=True)
            write_whole(self.inside(HOLDER), json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
            yield
        finally:
            with contextlib.suppress(OSError, UserError):
                self.inside(HOLDER).unlink(missing_ok=True)
            lock.release()
            if not self.has("run.json"):  # Nothing came of it: leave nothing.
                with contextlib.suppress(OSError):
                    (self.path / LOCK).unlink(missing_ok=True)
                    self.path.rmdir()

    @property
    def busy(self) -> bool:
        """Whether a learner is at work here."""
        if not self.has(LOCK):
            return False
        try:
            with FileLock(self.inside(LOCK), timeout=0):
                return False
        except Timeout:
            return True
        except (OSError, UserError):
            return False

    def holder(self) -> str:
        """Who is at work here."""
        try:
            holder = json.loads(read_whole(self.inside(HOLDER)))
            return f"process {int(holder['pid'])} on {str(holder['host'])[:100]}"
        except (OSError, UserError, ValueError, KeyError, TypeError):
            return "another process"

    # -- writing -------------------------------------------------------------------------------------------------

    def write_header(self, header: dict[str, Any]) -> None:
        """Write run.json."""
        write_whole(self.inside("run.json"), to_json({"format": FORMAT, **header}, indent=2) + "\n")

    def log_trial(self, index: int, columns: list[str], sampling_time: float, horizon: int) -> TrialLog:
        """The file that an execution is written to sample by sample; that the disk has room is tried out first."""
        trial = self.inside(f"trials/.{index:03d}.tmp")
        write_whole(trial, bytes(100 * (horizon + 10) * (len(columns) + 1)))
        trial.unlink()
        name = next(name for name in _partial_names(index) if not self.has(name))
        return TrialLog(self.inside(name), columns, sampling_time)

    def logged_trial(
        self,
        index: int,
        columns: list[str],
        positions: int,
        sampling_time: float,
        to_its_end: Callable[[Trial], Trial],
    ) -> bool:
        """Whether execution `index` is finished; one that had only to be put in its place is put there.

        `to_its_end` tells what is to be kept of a recorded execution.
        """
        for name in itertools.takewhile(self.has, _partial_names(index)):
            with self._told():
                path = self.inside(name)
                trial = read_log(path, positions, len(columns) - positions, sampling_time)
                whole = is_whole(path)
            if whole:
                if not self.has(f"trials/{index:03d}.csv"):
                    self.add_trial(index, to_its_end(trial), columns)
                path.unlink()
        return self.has(f"trials/{index:03d}.csv")

    def add_trial(self, index: int, trial: Trial, columns: list[str]) -> None:
        """Keep a finished execution."""
        content = trial_to_csv(trial.q, trial.u, trial.sampling_time, columns).encode()
        known = [rows for rows in (trial.true, trial.velocity) if rows is not None]
        if known:
            empty, names = np.empty((trial.steps, 0)), true_columns(columns[: trial.q.shape[1]], len(known))
            true = trial_to_csv(np.concatenate(known, axis=1), empty, trial.sampling_time, names)
            self._write_summed(f"trials/{index:03d}.true.csv", true.encode())
        self._write_summed(f"trials/{index:03d}.csv", content)

    def keep_trial(self, index: int, trial: Trial, columns: list[str], log: TrialLog) -> None:
        """Keep an execution that has just finished, whatever the disk says."""
        try:
            self.add_trial(index, trial, columns)
        except OSError as error:
            log.close()
            kept = log.path
            if not log.whole:
                kept = Path(tempfile.mkdtemp(prefix="vfpilco-")) / log.path.name
                write_log(kept, trial, columns)
            raise UserError(
                f"Execution {index} is finished but could not be put in its place in {self.path} "
                f"({error.strerror or error}); it is kept as {kept}: make room"
                f"{f', copy it to {log.path}' if kept != log.path else ''} and go on with --resume."
            ) from error
        log.remove()

    def _write_summed(self, name: str, content: bytes) -> None:
        """Write a file that has no place for a checksum; it stands beside it, in the format of sha256sum."""
        path = self.inside(name)
        write_whole(self.inside(f"{name}.sha256"), _sum(path, content))
        write_whole(path, content)

    def add_result(self, row: dict[str, Any]) -> None:
        """Append a line to results.jsonl."""
        self._append("results.jsonl", to_json(row))

    def add_timing(self, row: dict[str, Any]) -> None:
        """Append a line to timings.jsonl."""
        self._append("timings.jsonl", json.dumps(row))

    def add_punctuality(self, index: int, punctuality: Punctuality) -> None:
        """Keep when every sample of an execution came; nothing is lost if the disk does not take it."""
        with contextlib.suppress(OSError):
            write_whole(self.inside(f"trials/{index:03d}.timing.csv"), punctuality.to_csv())

    def add_policy(self, trial: int, policy: LearnedPolicy) -> None:
        """Keep the policy of a trial, and as the run's last one."""
        policy.save(self.inside("policy.safetensors"))
        policy.save(self.inside(f"policies/{trial:03d}.safetensors"))

    def add_arrays(self, kind: str, trial: int, arrays: dict[str, np.ndarray], **about: Any) -> None:
        """Keep named arrays of a trial, under `kind`."""
        self.write_arrays(f"{kind}/{trial:03d}.safetensors", arrays, **about)

    def write_arrays(self, name: str, arrays: dict[str, np.ndarray], **about: Any) -> None:
        """Keep named arrays in a file."""
        write_arrays(self.inside(name), arrays, about)

    def _append(self, name: str, line: str) -> None:
        path = self.inside(name)
        before = read_whole(path) if self.has(name) else b""
        write_whole(path, before + line.encode() + b"\n")

    # -- reading -------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What stands in run.json."""
        file = self.path / "run.json"
        if not self.has("run.json"):
            raise UserError(f"{self.path} holds no run (no run.json in it): give the folder of a run.")
        with self._told():
            try:
                content = read_whole(self.inside("run.json"))
                if not content.endswith(b"\n"):
                    raise ValueError("its end is missing")
                header = from_json(content[:-1])
                if not isinstance(header.get("task"), dict) or not isinstance(header["task"].get("name"), str):
                    raise ValueError("it names no task")
            except ValueError as error:
                raise Damaged(f"{file} is damaged or not ours ({error})") from error
        return header

    def results(self) -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        if not self.has("results.jsonl"):
            return []
        with self._told():
            rows = []
            lines = read_whole(self.inside("results.jsonl")).split(b"\n")
            for number, line in enumerate(lines[:-1], start=1):
                try:
                    rows.append(from_json(line))
                except ValueError as error:
                    raise Damaged(f"{self.path / 'results.jsonl'} is damaged in line {number} ({error})") from error
            if lines[-1]:
                raise Damaged(f"{self.path / 'results.jsonl'} is damaged: it ends in the middle of a line")
            return rows

    def policy(self, trial: int | None = None) -> LearnedPolicy:
        """The policy of a trial, or the last one."""
        name = "policy.safetensors" if trial is None else f"policies/{trial:03d}.safetensors"
        if trial is not None and not self.has(name):
            raise UserError(f"{self.path} has no policy of trial {trial}: it has {self.policies() or 'none yet'}.")
        with self._told():
            return LearnedPolicy.load(self.inside(name))

    def trial(self, index: int, positions: int) -> Trial:
        """A finished execution; the first `positions` columns after t are positions."""
        with self._told():
            q, u, sampling_time = read_trial(self._read_summed(f"trials/{index:03d}.csv"), positions)
            known: list[np.ndarray] = []
            if self.has(f"trials/{index:03d}.true.csv") or self.has(f"trials/{index:03d}.true.csv.sha256"):
                path = self._read_summed(f"trials/{index:03d}.true.csv")
                columns = read_whole(path).split(b"\n")[0].count(b",")
                true, _, _ = read_trial(path, columns)
                known = [true[:, i : i + positions] for i in range(0, columns, positions)]
            return Trial(q, u, sampling_time, *known)

    def _read_summed(self, name: str) -> Path:
        path, beside = self.inside(name), self.inside(f"{name}.sha256")
        try:
            if _sum(path, read_whole(path)).encode() != read_whole(beside):
                raise Damaged(f"{path} or {beside.name} is damaged (the checksum is wrong)")
        except FileNotFoundError as error:
            raise Damaged(f"{error.filename} is missing") from error
        return path

    def arrays(self, kind: str, trial: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays kept for a trial under `kind`, and what is known about them."""
        return self.read_arrays(f"{kind}/{trial:03d}.safetensors")

    def read_arrays(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays in a file."""
        with self._told():
            try:
                return read_arrays(self.inside(name))
            except FileNotFoundError as error:
                raise Damaged(f"{self.path / name} is missing") from error

    def check(self) -> None:
        """Read everything once; a file that is damaged or missing is named."""
        positions = len(self.header()["task"]["positions"])
        rows = self.results()
        for i, _ in enumerate(rows):
            self.trial(i, positions)
        trials = [row["trial"] for row in rows if row["kind"] == "policy"]
        names = {f"{kind}/{trial:03d}.safetensors" for kind in KINDS for trial in trials}
        names |= {str(path.relative_to(self.path)) for path in self.path.rglob("*.safetensors")}
        for name in sorted(names):
            self.read_arrays(name)

    # -- damage --------------------------------------------------------------------------------------------------

    @contextmanager
    def _told(self) -> Iterator[None]:
        """A damaged file is told with what can still be used."""
        try:
            yield
        except Damaged as error:
            raise UserError(f"{error}. {self.usable()}") from error

    def usable(self) -> str:
        """What can still be used of a damaged run, in a sentence."""
        trials, policies = [], []
        for path in sorted((self.path / "trials").glob("[0-9][0-9][0-9].csv")):
            with contextlib.suppress(UserError, OSError):
                self._read_summed(f"trials/{path.name}")
                trials.append(path.stem)
        for trial in self.policies():
            with contextlib.suppress(UserError, OSError):
                LearnedPolicy.load(self.inside(f"policies/{trial:03d}.safetensors"))
                policies.append(str(trial))
        parts = [f"executions {', '.join(trials)}"] * bool(trials) + [f"policies {', '.join(policies)}"] * bool(
            policies
        )
        return f"Still good in {self.path}: {' and '.join(parts) or 'nothing'}."

    def policies(self) -> list[int]:
        """The trials whose policy is kept."""
        files = (self.path / "policies").glob("*.safetensors")
        return sorted(int(file.stem) for file in files if file.stem.isdecimal() and len(file.stem) < 6)


def _sum(path: Path, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"


def _partial_names(index: int) -> Iterator[str]:
    yield f"trials/{index:03d}.partial.csv"
    for i in itertools.count(2):
        yield f"trials/{index:03d}.partial-{i}.csv"


def check_free(path: Path) -> None:
    """Refuse a folder that something else lives in."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file, but a run needs a folder: choose another --out.")
    if (path / "run.json").exists():
        raise UserError(f"{path} holds another run: choose another --out, or go on with it by --resume.")
    if path.exists() and not all(file.name in (LOCK, HOLDER) or file.match(LEFTOVER) for file in path.iterdir()):
        raise UserError(f"{path} is not empty: choose another --out or empty it.")
