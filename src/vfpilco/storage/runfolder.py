"""The run folder: everything a run writes, in files that other programs can read.

| file                             | content                                                                  |
|----------------------------------|--------------------------------------------------------------------------|
| run.json                         | task, settings, seed, versions                                           |
| results.jsonl                    | a line per execution on the plant, each with the digests of its files    |
| timings.jsonl                    | all durations; only the report repeats them                              |
| report.html                      | a page that shows the run                                                |
| trials/000.csv …                 | every execution: t, positions as measured, inputs as applied             |
| policies/001.safetensors …       | the policy of trial 1, 2, …; policy.safetensors is the last one          |
| models/001.safetensors …         | hyperparameters and posterior behind policy 1, 2, …                      |
| optimisations/001.safetensors …  | the expected cost at every gradient step                                 |
| predictions/001.safetensors …    | the particles that predicted trial 1, 2, …                               |
| trials/000.timing.csv …          | when every sample came, of a machine that is driven in real time         |
| scenes/000.safetensors …         | the machine as the task drew it, if it has a drawing of its own          |
| checkpoint.safetensors           | state of the current optimisation                                        |

One learner at a time writes to a folder. A file is complete or absent, and contains a checksum; a file that was changed
or replaced since (a link, a pipe, another length, other bits) is refused by name.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.common.files import FORMAT, Damaged, from_json, plain_json, read_file, to_json, write_arrays, write_file
from vfpilco.data.records import from_json_types, to_json_types
from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.storage import lock
from vfpilco.storage.header import RunHeader
from vfpilco.storage.records import FILE, KINDS, Record, digest, digests, line_after, names_of, parse
from vfpilco.storage.store import OPTIMISATION, About, Arrays, Artifact, Notes
from vfpilco.storage.trials import TrialFolder

T = TypeVar("T")
LEFTOVER = ".*.tmp"
CHECKPOINT, LAST = "checkpoint.safetensors", "policy.safetensors"


class RunFolder(TrialFolder):
    """One run on disk; every method writes complete files only.

    Args:
        path: The folder.
        components: Objects of the user's own classes that the run's files may name, such as a task's settings.
    """

    def __init__(self, path: str | Path, *components: Any) -> None:
        super().__init__(path, *components)
        self._read: tuple[bytes, list[Record]] = b"", []

    @property
    def begun(self) -> bool:
        """Whether the folder holds a run."""
        return self.has("run.json")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from learning in this folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.inside(lock.LOCK)
        try:
            with lock.hold(self.path):
                for leftover in self.path.rglob(LEFTOVER):  # of an interrupted write
                    leftover.unlink(missing_ok=True)
                yield
        finally:
            if not self.begun:  # Nothing was written: leave nothing.
                with contextlib.suppress(OSError):
                    (self.path / lock.LOCK).unlink(missing_ok=True)
                    self.path.rmdir()

    @property
    def busy(self) -> bool:
        """Whether a process is learning in this folder."""
        return lock.is_held(self.path)

    # -- writing -------------------------------------------------------------------------------------------------

    def write_header(self, header: RunHeader) -> None:
        """Write run.json."""
        content = {**to_json_types(header), "format": FORMAT}
        write_file(self.inside("run.json"), to_json(content, indent=2) + "\n")

    def add_result(self, result: TrialResult) -> None:
        """Append a line to results.jsonl."""
        before = self.content(FILE)
        names = [name for name in names_of(before.count(b"\n"), result.trial) if self.has(name)]
        files = {name: digest(read_file(self.inside(name))) for name in names}
        write_file(self.inside(FILE), before + line_after(before, result, files))

    def add_timing(self, timing: Timing) -> None:
        """Append a line to timings.jsonl."""
        line = json.dumps(to_json_types(timing)).encode() + b"\n"
        write_file(self.inside("timings.jsonl"), self.content("timings.jsonl") + line)

    def save(self, artifact: Artifact[T], trial: int, value: T, notes: list[str]) -> None:
        """Write the file of an artifact."""
        arrays, about = artifact.encode(value)
        write_arrays(self.inside(f"{artifact.folder}/{trial:03d}.safetensors"), arrays, {**about, "notes": notes})

    def save_policy(self, trial: int, policy: LearnedPolicy, costs: np.ndarray, notes: list[str]) -> None:
        """Write the policy of a trial, also as the run's last one, and its optimisation."""
        self.save(OPTIMISATION, trial, costs, notes)
        self.add_policy(trial, policy)

    def add_policy(self, trial: int, policy: LearnedPolicy) -> None:
        """Write the policy of a trial, also as the run's last one."""
        policy.save(self.inside(LAST))
        policy.save(self.inside(_policy(trial)))

    def restore_last_policy(self) -> None:
        """Write policy.safetensors again, if it is missing."""
        if not self.has(LAST):
            write_file(self.inside(LAST), read_file(self.checked(_policy(self.policies()[-1]))))

    def save_checkpoint(self, arrays: Arrays, trial: int, notes: list[str]) -> None:
        """Write the checkpoint."""
        write_arrays(self.inside(CHECKPOINT), arrays, {"trial": trial, "notes": notes})

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint."""
        self.inside(CHECKPOINT).unlink(missing_ok=True)

    # -- reading -------------------------------------------------------------------------------------------------

    def trial(self, index: int, positions: int) -> Trial:
        """A finished execution; the first `positions` columns after t are positions."""
        found, inputs = super().trial(index, positions), len(self.header().task.inputs)
        if found.u.shape[1] != inputs:
            raise UserError(f"{self.path / f'trials/{index:03d}.csv'} has {found.u.shape[1]} inputs, not {inputs}.")
        return found

    def header(self) -> RunHeader:
        """The content of run.json."""
        file = self.path / "run.json"
        if not self.begun:
            raise UserError(f"{self.path} holds no run (no run.json in it): give the folder of a run.")
        with self.explaining_damage():
            try:
                content = read_file(self.inside("run.json"))
                if not content.endswith(b"\n"):
                    raise ValueError("its end is missing")
                row = from_json(content[:-1])
                row["external"] = row.pop("told", row.get("external", False))  # its name in format 3
                return from_json_types(row, RunHeader)
            except ValueError as error:
                raise Damaged(f"{file} is damaged or was not written by vfpilco ({error})") from error

    def results(self) -> list[TrialResult]:
        """The lines of results.jsonl."""
        with self.explaining_damage():
            return [record.result for record in self.records()]

    def records(self) -> list[Record]:
        """The lines of results.jsonl, each with the digests of its files; `Damaged` if they are not all there."""
        content = self.content(FILE)
        if content != self._read[0]:
            self._read = content, parse(content, str(self.path / FILE))
        records = self._read[1]
        beyond = f"trials/{len(records) + 1:03d}.csv"  # The last execution may not have its line yet.
        if self.has(beyond):
            raise Damaged(f"{self.path / FILE} has {len(records)} lines although there is {beyond}: its end is missing")
        return records

    @property
    def unrecorded(self) -> bool:
        """Whether the last execution has no line in the results: the run was interrupted in between."""
        return self.has(f"trials/{len(self.results()):03d}.csv")

    def checked(self, name: str) -> Path:
        """The path of a file to be read, after comparing it with its digest in results.jsonl if there is one."""
        path, known = self.inside(name), digests(self.records())
        if name in known and known[name] != digest(read_file(path)):
            problem = "does not belong to this run" if known[name] is None else "is not the file that was written"
            raise Damaged(f"{path} {problem} (its digest is not in {FILE}): it was exchanged or changed")
        return path

    def timings(self) -> list[Timing]:
        """The lines of timings.jsonl, up to the first one that is damaged."""
        rows: list[Timing] = []
        if self.has("timings.jsonl"):
            with contextlib.suppress(ValueError, RecursionError, UserError):
                for line in read_file(self.inside("timings.jsonl")).splitlines():
                    rows.append(from_json_types(plain_json(line), Timing))
        return rows

    def policy(self, trial: int | None = None) -> LearnedPolicy:
        """The policy of a trial, or the last one."""
        kept = self.policies()
        if trial is not None and trial not in kept:
            raise UserError(f"{self.path} has no policy of trial {trial}: it has {kept or 'none yet'}.")
        executed = max((row.trial for row in self.results() if row.trial is not None), default=0)
        if trial is None and not kept and not executed:
            raise UserError(f"There is no policy file in {self.path / 'policies'}: learn one first.")
        name, task = _policy(max([executed, *kept]) if trial is None else trial), self.header().task
        with self.explaining_damage():
            if not self.has(name):
                raise Damaged(f"{self.path / name} is missing")
            policy = LearnedPolicy.load(self.checked(name), *self.components)
            signals = policy.state.signals
            if (signals.d_q, signals.d_u) != (len(task.positions), len(task.inputs)):
                raise Damaged(f"{self.path / name} belongs to another machine")
            return policy

    def load_policy(self, trial: int) -> tuple[LearnedPolicy, list[str]] | None:
        """The policy of a trial, and the notes made during its optimisation."""
        if not self.has(_policy(trial)):
            return None
        return self.policy(trial), self.artifact(OPTIMISATION, trial)[1]

    def load(self, artifact: Artifact[T], trial: int) -> tuple[T, list[str]] | None:
        """Read the file of an artifact, if there is one."""
        if not self.has(f"{artifact.folder}/{trial:03d}.safetensors"):
            return None
        return self.artifact(artifact, trial)

    def artifact(self, artifact: Artifact[T], trial: int) -> tuple[T, list[str]]:
        """Read the file of an artifact, and the notes in it."""
        arrays, about = self.arrays(artifact.folder, trial)
        file = self.path / f"{artifact.folder}/{trial:03d}.safetensors"
        try:
            value = artifact.decode(arrays, about, self.known)
            if not artifact.fits(value, self.header().task):
                raise ValueError("it belongs to another machine")
            return value, from_json_types(about, Notes).notes
        except DATA_ERRORS as error:
            raise UserError(f"{file} is damaged or was not written by vfpilco ({error}).") from error

    def load_checkpoint(self) -> tuple[Arrays, About] | None:
        """Read the checkpoint, if there is one."""
        return self.read_arrays(CHECKPOINT) if self.has(CHECKPOINT) else None

    def check(self) -> None:
        """Read everything once; a file that is damaged or missing is named."""
        positions = len(self.header().task.positions)
        rows = self.results()
        for i, _ in enumerate(rows):
            self.trial(i, positions)
        trials = [row.trial for row in rows if row.trial is not None]
        names = {f"{kind}/{trial:03d}.safetensors" for kind in KINDS for trial in trials}
        names |= {name for name, known in digests(self.records()).items() if known and name.endswith(".safetensors")}
        names |= {str(path.relative_to(self.path)) for path in self.path.rglob("*.safetensors")}
        for name in sorted(names):
            self.read_arrays(name)
        with self.explaining_damage():
            self._check_last_policy()

    def _check_last_policy(self) -> None:
        """policy.safetensors is a copy of the last policy; while that is being written, of the one before."""
        kept = self.policies()
        if self.has(LAST) and kept and not self.has(f"optimisations/{kept[-1] + 1:03d}.safetensors"):
            last = _policy(kept[-1])
            if self.content(LAST) != self.content(last):
                raise Damaged(f"{self.path / LAST} is not a copy of {last}: it was exchanged or changed")

    def usable(self) -> str:
        """What can still be used of a damaged run, in a sentence."""
        trials, policies = [], []
        for path in sorted((self.path / "trials").glob("[0-9][0-9][0-9].csv")):
            with contextlib.suppress(UserError, OSError):
                self.verified(f"trials/{path.name}")
                trials.append(path.stem)
        for trial in self.policies():
            with contextlib.suppress(UserError, OSError):
                LearnedPolicy.load(self.inside(_policy(trial)), *self.components)
                policies.append(str(trial))
        parts = [f"executions {', '.join(trials)}"] if trials else []
        parts += [f"policies {', '.join(policies)}"] if policies else []
        return f"Still usable in {self.path}: {' and '.join(parts) or 'nothing'}."

    def policies(self) -> list[int]:
        """The trials whose policy is kept."""
        files = (self.path / "policies").glob("*.safetensors")
        return sorted(int(file.stem) for file in files if file.stem.isdecimal() and len(file.stem) < 6)


def _policy(trial: int) -> str:
    return f"policies/{trial:03d}.safetensors"


def check_free(path: Path) -> None:
    """Raise a `UserError` if `path` is not an empty or new folder."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file, but a run needs a folder: choose another --out.")
    if (path / "run.json").exists():
        raise UserError(f"{path} holds another run: choose another --out, or continue it with --resume.")
    if path.exists() and not all(
        file.name in (lock.LOCK, lock.HOLDER) or file.match(LEFTOVER) for file in path.iterdir()
    ):
        raise UserError(f"{path} is not empty: choose another --out or empty it.")
