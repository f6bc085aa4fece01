"""The run folder: everything a run leaves behind, in files that other programs can read.

| file                             | content                                                                  |
|----------------------------------|--------------------------------------------------------------------------|
| run.json                         | task, settings, seed, versions                                           |
| results.jsonl                    | a line per execution on the plant                                        |
| timings.jsonl                    | all times, and nothing else holds one                                    |
| trials/000.csv …                 | every execution: t, positions as measured, inputs as applied             |
| policies/001.safetensors …       | the policy of trial 1, 2, …; policy.safetensors is the last one          |
| models/001.safetensors …         | hyperparameters and posterior behind policy 1, 2, …                      |
| optimisations/001.safetensors …  | the expected cost at every gradient step                                 |
| predictions/001.safetensors …    | the particles that predicted trial 1, 2, …                               |
"""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.files import write_whole
from vfpilco.trial import Trial

FORMAT = 1
"""The version of the folder's layout, in run.json."""


class RunFolder:
    """One run on disk; every method writes whole files only."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self, header: dict[str, Any]) -> None:
        """Begin a new run in a folder that does not hold one."""
        check_free(self.path)
        write_whole(self.path / "run.json", json.dumps({"format": FORMAT, **header}, indent=2) + "\n")

    def add_trial(self, index: int, trial: Trial, columns: list[str], suffix: str = "csv") -> str:
        """Keep an execution; its name within the folder."""
        name = f"trials/{index:03d}.{suffix}"
        write_whole(self.path / name, trial_to_csv(trial, columns))
        return name

    def add_result(self, row: dict[str, Any]) -> None:
        """Append a line to results.jsonl."""
        self._append("results.jsonl", row)

    def add_timing(self, row: dict[str, Any]) -> None:
        """Append a line to timings.jsonl."""
        self._append("timings.jsonl", row)

    def add_policy(self, trial: int, policy: LearnedPolicy) -> None:
        """Keep the policy of a trial, and as the run's last one."""
        policy.save(self.path / f"policies/{trial:03d}.safetensors")
        policy.save(self.path / "policy.safetensors")

    def add_arrays(self, kind: str, trial: int, arrays: dict[str, np.ndarray]) -> None:
        """Keep named arrays of a trial, under `kind`."""
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_whole(self.path / f"{kind}/{trial:03d}.safetensors", save(contiguous))

    def _append(self, name: str, row: dict[str, Any]) -> None:
        file = self.path / name
        before = file.read_text() if file.exists() else ""
        write_whole(file, before + json.dumps(row) + "\n")

    # -- reading -------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What stands in run.json."""
        try:
            header = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError as error:
            raise UserError(f"{self.path} holds no run (no run.json in it): give the folder of a run.") from error
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path / 'run.json'} cannot be read ({error}): give the folder of a run.") from error
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            got = header.get("format") if isinstance(header, dict) else header
            raise UserError(
                f"{self.path} has format {got!r}, this version reads {FORMAT}: use the version that made it."
            )
        if not isinstance(header.get("task"), dict) or not isinstance(header["task"].get("name"), str):
            raise UserError(f"{self.path / 'run.json'} does not name its task: give the folder of a run.")
        return header

    def results(self) -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        file = self.path / "results.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def policy(self, trial: int | None = None) -> LearnedPolicy:
        """The policy of a trial, or the last one."""
        if trial is None:
            return LearnedPolicy.load(self.path / "policy.safetensors")
        file = self.path / f"policies/{trial:03d}.safetensors"
        if not file.exists():
            known = sorted(int(f.stem) for f in file.parent.glob("*.safetensors") if f.stem.isdigit())
            raise UserError(f"{self.path} has no policy of trial {trial}: it has {known or 'none yet'}.")
        return LearnedPolicy.load(file)

    def trial(self, name: str, positions: int) -> Trial:
        """An execution, by its file's name in results.jsonl; the first `positions` columns after t are positions."""
        return csv_to_trial(self.path / name, positions)

    def arrays(self, kind: str, trial: int) -> dict[str, np.ndarray]:
        """The arrays kept for a trial under `kind`."""
        file = self.path / f"{kind}/{trial:03d}.safetensors"
        try:
            return load_file(file)
        except (OSError, SafetensorError) as error:
            raise UserError(f"{file} cannot be read ({error}).") from error


def check_free(path: Path) -> None:
    """Refuse a folder that something else lives in."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file, but a run needs a folder: choose another --out.")
    if (path / "run.json").exists():
        raise UserError(f"{path} holds another run: choose another --out or remove it.")
    if path.exists() and any(path.iterdir()):
        raise UserError(f"{path} is not empty: choose another --out or empty it.")


def trial_to_csv(trial: Trial, columns: list[str]) -> str:
    """T+1 rows of t, positions and inputs with 17 significant digits; the last row has no inputs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["t", *columns])
    d_u = trial.u.shape[1]
    for i, q in enumerate(trial.q):
        u = [f"{value:.17g}" for value in trial.u[i]] if i < trial.steps else [""] * d_u
        writer.writerow([f"{i * trial.sampling_time:.17g}", *(f"{value:.17g}" for value in q), *u])
    return out.getvalue()


def csv_to_trial(path: Path, positions: int) -> Trial:
    """Read an execution back, to the bit."""
    try:
        with open(path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        t = [float(row[0]) for row in rows]
        q = np.array([[float(value) for value in row[1 : 1 + positions]] for row in rows])
        u = np.array([[float(value) for value in row[1 + positions :]] for row in rows[:-1]])
        if len(t) < 2 or not math.isfinite(t[1] - t[0]):
            raise ValueError("it has fewer than two samples")
    except (OSError, ValueError, IndexError) as error:
        raise UserError(f"{path} is not a trial of ours or is damaged ({error}).") from error
    return Trial(q, u, t[1] - t[0])
