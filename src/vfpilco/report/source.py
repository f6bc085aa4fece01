"""What a report is made from: a run's folder, and its task where that can be had."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vfpilco.arguments import as_flags
from vfpilco.errors import UserError
from vfpilco.files import read_whole
from vfpilco.learn import completed
from vfpilco.runfolder import RunFolder
from vfpilco.scenes.base import Scene
from vfpilco.scenes.generic import instruments
from vfpilco.settings import Settings
from vfpilco.task import Input, Position, Task
from vfpilco.trial import Trial


@dataclass(frozen=True)
class Source:
    """A run as a report sees it; runs of older versions may know less of themselves."""

    folder: RunFolder
    task: Task | None = None

    @cached_property
    def header(self) -> dict[str, Any]:
        """What stands in run.json."""
        return self.folder.header()

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        return self.folder.results()

    @cached_property
    def positions(self) -> list[Position]:
        """The positions as the run describes them."""
        return [Position(**row) for row in self._described["positions"]]

    @cached_property
    def inputs(self) -> list[Input]:
        """The inputs, likewise."""
        return [Input(**row) for row in self._described["inputs"]]

    @cached_property
    def _described(self) -> dict[str, Any]:
        try:
            return completed(self.header["task"])
        except (KeyError, TypeError) as error:
            raise UserError(
                f"{self.folder.path / 'run.json'} does not describe a run of this version ({error})."
            ) from error

    @property
    def modelled(self) -> list[int]:
        """The positions that have a GP."""
        return [i for i, position in enumerate(self.positions) if position.commanded is None]

    def trial(self, index: int) -> Trial:
        """An execution."""
        return self.folder.trial(index, len(self.positions))

    def predicted(self, row: dict[str, Any]) -> dict[str, np.ndarray] | None:
        """The particles that predicted an execution, if there were any: q, u and cost."""
        return self._kept("predictions", row)

    def optimised(self, row: dict[str, Any]) -> np.ndarray | None:
        """The expected cost at every gradient step before an execution."""
        found = self._kept("optimisations", row)
        return None if found is None else found["cost"]

    def _kept(self, kind: str, row: dict[str, Any]) -> dict[str, np.ndarray] | None:
        if row["kind"] != "policy" or not self.folder.has(f"{kind}/{row['trial']:03d}.safetensors"):
            return None
        return self.folder.arrays(kind, row["trial"])[0]

    @cached_property
    def timings(self) -> list[dict[str, Any]]:
        """The lines of timings.jsonl."""
        if not self.folder.has("timings.jsonl"):
            return []
        lines = read_whole(self.folder.inside("timings.jsonl")).decode(errors="replace").splitlines()
        return [json.loads(line) for line in lines]

    def scene(self, q: np.ndarray) -> Scene:
        """The machine at positions (samples, d_q): the task's own drawing, or dials and sliders."""
        if self.task is not None and self.task.scene is not None:
            return self.task.scene(q)
        return self._instruments(q)

    @cached_property
    def _instruments(self) -> Any:
        q = np.concatenate([self.trial(i).q for i in range(len(self.rows))])
        spans = np.stack([q.min(0), q.max(0)], axis=-1)
        return instruments(self.positions, np.array([[float(f"{end:.2g}") for end in span] for span in spans]))

    @property
    def command(self) -> str:
        """The command line that makes this run again."""
        settings = self.header.get("settings", {})
        usual = Settings() if self.task is None else self.task.settings
        name = self.header.get("task_file") or self.header["task"]["name"]
        fixed = ["--seed", str(self.header.get("seed", 0)), "--trials", str(self.header.get("trials", len(self.rows)))]
        return shlex.join(["vfpilco", "learn", str(name), *fixed, *as_flags(settings, usual)])
