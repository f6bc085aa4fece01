"""Checkpoints of the current optimisation."""

from __future__ import annotations

import time

from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.data.records import from_json_types
from vfpilco.data.watcher import NoteKeeper
from vfpilco.rollout.optimiser_state import OptimiserState
from vfpilco.storage.store import Notes, Store

EVERY = 4.0
"""Seconds between two checkpoints."""
MOST_SHARE = 0.01
"""The fraction of the time that checkpoints may take; on a slow disk they become rarer."""


class Checkpoints:
    """Called after every chunk of an optimisation; writes its state every few seconds."""

    def __init__(self, store: Store, trial: int, watch: NoteKeeper) -> None:
        self.store, self.trial, self.watch = store, trial, watch
        self.first_note = len(watch.notes)
        self.due = time.monotonic() + EVERY

    @property
    def notes(self) -> list[str]:
        """The notes made since this optimisation began."""
        return self.watch.notes[self.first_note :]

    def __call__(self, state: OptimiserState) -> None:
        begun = time.monotonic()
        if begun < self.due:
            return
        self.store.save_checkpoint(state.arrays(), self.trial, self.notes)
        ended = time.monotonic()
        self.due = ended + max(EVERY, (ended - begun) / MOST_SHARE)

    def restore(self, like: OptimiserState, shards: int) -> OptimiserState | None:
        """The state of an interrupted optimisation, if there is a checkpoint; `like` is its beginning."""
        found = self.store.load_checkpoint()
        if found is None:
            return None
        arrays, about = found
        if about.get("trial") != self.trial:  # The run was interrupted after the policy of that trial was written.
            self.store.remove_checkpoint()
            return None
        try:
            state = like.restored(arrays, shards)
            self.watch.notes[self.first_note :] = from_json_types(about, Notes).notes
        except DATA_ERRORS as error:
            raise UserError(
                f"The checkpoint does not fit this run ({error}): remove checkpoint.safetensors from its folder, and "
                f"the optimisation of trial {self.trial} starts again."
            ) from error
        return state
