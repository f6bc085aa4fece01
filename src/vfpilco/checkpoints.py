"""Checkpoints of a running optimisation."""

from __future__ import annotations

import time

from vfpilco.errors import UserError
from vfpilco.optimise import Standing
from vfpilco.runfolder import RunFolder
from vfpilco.watch import Noting

FILE = "checkpoint.safetensors"
EVERY = 4.0
"""Seconds between two checkpoints."""
MOST_SHARE = 0.01
"""The share of the time that checkpoints may take; on a slow disk they become rarer."""


class Checkpoints:
    """Called after every chunk of an optimisation, keeps where it stands every few seconds."""

    def __init__(self, folder: RunFolder | None, trial: int, watch: Noting) -> None:
        self.folder, self.trial, self.watch = folder, trial, watch
        self.said = len(watch.notes)
        self.due = time.monotonic() + EVERY

    @property
    def notes(self) -> list[str]:
        """What was said since this optimisation began."""
        return self.watch.notes[self.said :]

    def __call__(self, standing: Standing) -> None:
        begun = time.monotonic()
        if self.folder is None or begun < self.due:
            return
        self.folder.write_arrays(FILE, standing.arrays(), trial=self.trial, notes=self.notes)
        ended = time.monotonic()
        self.due = ended + max(EVERY, (ended - begun) / MOST_SHARE)

    def standing(self, like: Standing, shards: int) -> Standing | None:
        """Where the optimisation stood when the run was stopped, if that was kept; `like` is its beginning."""
        if self.folder is None or not self.folder.has(FILE):
            return None
        arrays, about = self.folder.read_arrays(FILE)
        if about.get("trial") != self.trial:  # The policy of that trial was kept, and then the run was stopped.
            self.remove()
            return None
        try:
            found = like.restored(arrays, shards)
            self.watch.notes += about["notes"]
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{self.folder.path / FILE} does not fit this run ({error}): remove it, and the optimisation of trial "
                f"{self.trial} begins again."
            ) from error
        return found

    def remove(self) -> None:
        """The optimisation is finished."""
        if self.folder is not None:
            self.folder.inside(FILE).unlink(missing_ok=True)
