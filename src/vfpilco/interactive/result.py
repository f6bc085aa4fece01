"""What `learn` returns: a run that prints, plots, animates and reports itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError
from vfpilco.drawing.instruments import instruments_for
from vfpilco.drawing.shapes import Scene
from vfpilco.interactive.views import Animation, PlottedModel, PlottedPolicy, PlottedTrial
from vfpilco.machines.runs import open_run
from vfpilco.report.figures import cost_figure
from vfpilco.report.live import show
from vfpilco.report.run import write_report
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.memory import Memory
from vfpilco.storage.runfolder import RunFolder, check_free
from vfpilco.storage.store import MODEL, PREDICTION
from vfpilco.trials.learn import planned
from vfpilco.trials.result import RunResult


@dataclass(repr=False)
class Result(RunResult):
    """What a run has learned: `print` shows a table of its trials, and everything in it can be plotted.

    `result.plot()` shows the cost of every trial, `result.trials[3].plot()` one execution over its prediction,
    `result.policy.plot()` the policy and `result.model.plot()` the model's errors. Figures are Matplotlib's
    (`pip install 'vfpilco[plot]'`): a notebook shows them, `savefig` writes them.

    Example:
        >>> import vfpilco
        >>> result = vfpilco.learn("cartpole", seed=0)  # doctest: +SKIP
        >>> result.successes  # doctest: +SKIP
        [False, False, True, True, True]
        >>> result.report()  # doctest: +SKIP
        PosixPath('report.html')
    """

    def __post_init__(self) -> None:
        self.trials = [PlottedTrial(**vars(trial), run=self, index=i) for i, trial in enumerate(self.trials)]
        self.policy = None if self.policy is None else PlottedPolicy(self.policy, self)
        self.model = None if self.model is None else PlottedModel(**vars(self.model), run=self)

    @staticmethod
    def of(run: RunResult) -> Result:
        """The same run with plots."""
        return Result(**vars(run))

    @staticmethod
    def load(path: str | Path, task: str | Path | None = None) -> Result:
        """The run in a folder, finished or not.

        Args:
            path: The folder.
            task: The file of its task, if that was moved or changed since.

        Raises:
            UserError: If the folder holds no run, or if a file of the run is damaged.
        """
        configure()
        folder, found = open_run(path, None if task is None else str(task))
        plan, rows = planned(found, folder, folder.header()), folder.results()
        trials = [folder.trial(i, len(found.machine.positions)) for i in range(len(rows))]
        last = sum(row.kind == "policy" for row in rows)
        policy, model = (folder.policy(last), folder.artifact(MODEL, last)[0]) if last else (None, None)
        return Result(plan, trials, rows, policy, model, store=folder)

    def predicted(self, index: int) -> Rollout | None:
        """The particles that predicted execution `index`; None for an exploration."""
        trial = self.rows[index].trial
        found = None if trial is None else self.store.load(PREDICTION, trial)
        return None if found is None else found[0]

    @property
    def drawing(self) -> Callable[[np.ndarray], Scene]:
        """The task's drawing of the machine; dials and sliders if it has none."""
        machine = self.task.machine
        return machine.drawing.scene or instruments_for(machine.positions, [trial.q for trial in self.trials])

    def plot(self) -> Any:
        """A figure of the cost of every trial beside what was predicted."""
        if not self.successes:
            raise UserError("No policy was executed yet: plot a trial, as in result.trials[0].plot().")
        return cost_figure(self.rows)

    def animate(self, trial: int | None = None, **options: Any) -> Animation:
        """A film of an execution; a notebook shows it, and `.save("swing.gif")` writes it.

        Args:
            trial: Which execution, as an index of `trials`; the last one if not given.
            **options: `predicted`, `fps` and `speed`, as for `Animation`.
        """
        chosen = self.trials[-1 if trial is None else trial]
        assert isinstance(chosen, PlottedTrial)
        return chosen.animate(**options)

    def report(self, out: str | Path | None = None, *, open: bool = False) -> Path:
        """Write the page that shows the run.

        Args:
            out: The file; `report.html` in the folder of the run if not given, or here if the run has none.
            open: Whether to open it in the browser.

        Returns:
            The file that was written.
        """
        file = None if out is None else Path(out)
        if isinstance(self.store, RunFolder):
            written = write_report(self.store, file, self.task)
        else:
            with tempfile.TemporaryDirectory(prefix="vfpilco-") as folder:
                written = write_report(self.save(Path(folder) / self.task.name), file or Path("report.html"), self.task)
        if open:
            show(written, print)
        return written

    def save(self, out: str | Path) -> RunFolder:
        """Write a run that was learned without a folder to a new one, as `learn(…, out=…)` would have.

        Raises:
            UserError: If the folder is not empty, or if the run has one already.
        """
        if not isinstance(self.store, Memory):
            raise UserError("The run has a folder already: copy that.")
        folder = RunFolder(out, self.task.settings, self.settings)
        check_free(folder.path)
        with folder.held():
            folder.write_header(self.plan.header())
            self.store.write(folder)
        return folder
