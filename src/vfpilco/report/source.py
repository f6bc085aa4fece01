"""What a report is made from: a run folder. It executes nothing that the folder names."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.results import Timing, TrialResult
from vfpilco.data.trial import Trial
from vfpilco.drawing.instruments import instruments_for
from vfpilco.drawing.shapes import Scene
from vfpilco.machines.runs import built_in, task_of
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.header import RunHeader
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.scenes import SCENES, Scenes, draw
from vfpilco.storage.store import OPTIMISATION, PREDICTION
from vfpilco.tasks.machine import Input, Machine, Position
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.tasks.task import Task
from vfpilco.trials.options import as_flags, recorded_settings
from vfpilco.trials.settings import Settings, default_settings

LONGEST = 10_000
"""Samples of a target that are shown at most: a run folder may name any horizon."""


@dataclass(frozen=True)
class Source:
    """A run as a report sees it; without its task the machine is drawn as it was stored, or as dials and sliders.

    Example:
        >>> source = Source(RunFolder("runs/first"), vfpilco.task("cartpole"))  # doctest: +SKIP
        >>> source.results[-1].cost  # doctest: +SKIP
        31.4
    """

    folder: RunFolder
    """The run."""
    task: Task | None = None
    """Its task, if it is a built-in one or was given."""

    def __post_init__(self) -> None:
        if self.task is not None:  # The files of the run may name classes of the task's own.
            folder = RunFolder(self.folder.path, *self.folder.components, self.task.settings)
            object.__setattr__(self, "folder", folder)

    # -- records -------------------------------------------------------------------------------------------------

    @cached_property
    def header(self) -> RunHeader:
        """The content of run.json."""
        return self.folder.header()

    @cached_property
    def results(self) -> list[TrialResult]:
        """The lines of results.jsonl."""
        return self.folder.results()

    @property
    def policies(self) -> list[tuple[int, TrialResult]]:
        """The trials of a policy, each with the index of its execution."""
        return [(i, result) for i, result in enumerate(self.results) if result.kind == "policy"]

    @cached_property
    def timings(self) -> list[Timing]:
        """The lines of timings.jsonl."""
        return self.folder.timings()

    # -- trials --------------------------------------------------------------------------------------------------

    def trial(self, index: int) -> Trial:
        """An execution."""
        return self.folder.trial(index, len(self.positions))

    def predicted(self, result: TrialResult) -> Rollout | None:
        """The particles that predicted an execution, if there were any."""
        found = None if result.trial is None else self.folder.load(PREDICTION, result.trial)
        return None if found is None else found[0]

    def optimisation_costs(self, result: TrialResult) -> np.ndarray | None:
        """The expected cost at every gradient step before an execution, if there were any."""
        found = None if result.trial is None else self.folder.load(OPTIMISATION, result.trial)
        return None if found is None else found[0]

    # -- the machine ---------------------------------------------------------------------------------------------

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions, as run.json describes them."""
        return self.header.task.positions

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs, as run.json describes them."""
        return self.header.task.inputs

    @property
    def modelled(self) -> list[int]:
        """The positions that have a GP."""
        return [i for i, position in enumerate(self.positions) if position.commanded is None]

    @cached_property
    def targets(self) -> np.ndarray | None:
        """Where positions should be, (T+1, d_q): the reference of the policy, or the task's target; NaN where free."""
        if self.task is not None:
            return self.task.targets
        reference = None
        with contextlib.suppress(UserError):  # a policy of a class that only the task's file knows, or none yet
            reference = self.folder.policy().reference
        if reference is not None or self.header.target is None:
            return reference
        samples = min(self.header.task.horizon, LONGEST) + 1
        return np.tile(np.array(self.header.target, dtype=float), (samples, 1))

    def target(self, i: int) -> np.ndarray | None:
        """Where position `i` should be, a value per sample; None if that is not known."""
        return None if self.targets is None or np.isnan(self.targets[:, i]).all() else self.targets[:, i]

    @property
    def units(self) -> dict[str, str]:
        """The units of the task's measures."""
        return self.header.measures if self.task is None else {m.name: m.unit for m in self.task.measures}

    @property
    def summary(self) -> str:
        """What the task is, in one line."""
        return self.header.summary if self.task is None else self.task.summary

    @property
    def machine(self) -> Machine:
        """The task's machine; without a task the one that run.json describes, which says nothing of its sensors."""
        if self.task is not None:
            return self.task.machine
        return Machine(
            plant=None,
            positions=self.positions,
            inputs=self.inputs,
            sampling_time=self.header.task.sampling_time,
            sensor=GaussianNoise((0.0,) * len(self.positions)),
        )

    @cached_property
    def drawing(self) -> Callable[[np.ndarray], Scene] | None:
        """The task's drawing, or that of a built-in machine; None if the folder has one or nobody has."""
        task = self.task or built_in(self.header.drawing, self.header)
        return None if task is None else task.machine.drawing.scene

    def scenes(self, index: int) -> Scenes:
        """The machine in an execution and in its prediction: as it was drawn, or as dials and sliders."""
        stored = self.folder.load(SCENES, index) if self.drawing is None else None
        if stored is not None:
            return stored[0]
        return draw(self.drawing or self._instruments, self.trial(index), self.predicted(self.results[index]))

    @cached_property
    def _instruments(self) -> Callable[[np.ndarray], Scene]:
        return instruments_for(self.positions, [self.trial(i).q for i in range(len(self.results))])

    # -- settings ------------------------------------------------------------------------------------------------

    @cached_property
    def settings(self) -> Settings | None:
        """The settings of the run; None if they name classes that are not known without its task file."""
        try:
            return recorded_settings(self.header.settings, self.machine, *self.folder.components)
        except UserError:
            return None

    @cached_property
    def default_settings(self) -> Settings:
        """The settings that a run of this task has by default, as far as they are known."""
        if self.task is not None:
            return default_settings(self.task)
        try:
            return recorded_settings(self.header.defaults, self.machine) if self.header.defaults else Settings()
        except UserError:
            return Settings()

    @property
    def command(self) -> str:
        """The command line that repeats this run, or starts one from the explorations that were logged elsewhere."""
        name, seed = self.header.task_file or self.header.task.name, ["--seed", str(self.header.seed)]
        known = self.settings
        flags = [] if known is None else as_flags(known, self.default_settings, self.machine)
        if self.header.external:
            logs = [str(self.folder.path / row.file) for row in self.results if row.kind == "explore"]
            return shlex.join(["vfpilco", "tell", f"{self.folder.path}-again", *logs, "--task", name, *seed, *flags])
        plant = [] if self.header.plant is None else ["--plant", self.header.plant]
        trials = ["--trials", str(self.header.trials)]
        return shlex.join(["vfpilco", "learn", name, *plant, *seed, *trials, *flags])


def task_if_any(folder: RunFolder, given: str | None = None) -> Task | None:
    """The task of a run if it is given or a built-in one; a file that only the folder names is not executed.

    Args:
        folder: The run.
        given: The name or the file of its task, if the user gave one.

    Raises:
        UserError: If the folder holds no run, or if the task that was given is not that of the run.
    """
    header = folder.header()
    if given is not None:
        return task_of(folder, given)
    return built_in(header.task.name, header) if header.task_file is None else None
