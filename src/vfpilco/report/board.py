"""TensorBoard: the scalars of a run and a figure of every trial, while it learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vfpilco.common.errors import UserError
from vfpilco.common.plotting import close
from vfpilco.data.results import TrialResult
from vfpilco.data.watcher import Watcher
from vfpilco.report.picture import run_figure
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task


class Board(Watcher):
    """Writes what happens in a run to its subfolder `tensorboard`.

    Args:
        task: The task of the run.
        out: The folder of the run.
        note: Is called with every message for the user.

    Raises:
        UserError: If tensorboardX is not installed.
    """

    def __init__(self, task: Task, out: Path, note: Callable[[str], None]) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise UserError("--tensorboard needs tensorboardX: pip install 'vfpilco[tensorboard]'.") from error
        self.task, self.folder, self.notify, self.trial = task, RunFolder(out, task.settings), note, 0
        self.make_writer: Callable[[], Any] = lambda: SummaryWriter(str(out / "tensorboard"))
        self.opened: Any = None

    @property
    def writer(self) -> Any:
        """The writer, opened when it is first needed: until the run has begun its folder has to be empty."""
        self.opened = self.opened or self.make_writer()
        return self.opened

    def phase(self, trial: int, name: str) -> None:
        self.trial = trial

    def step(self, done: int, total: int, cost: float) -> None:
        self.writer.add_scalar(f"optimisation/trial_{self.trial}", cost, done)

    def executed(self, result: TrialResult) -> None:
        trial = result.trial or 0
        for name, value in scalars(result, self.task).items():
            self.writer.add_scalar(name, value, trial)
        if result.kind == "policy":
            try:
                figure = run_figure(self.task, self.folder, trial)
                self.writer.add_figure("trial", figure, trial)
                close(figure)
            except UserError as error:
                self.notify(f"There is no figure in TensorBoard: {error}")
        self.writer.flush()

    def note(self, text: str) -> None:
        """Ignore it: TensorBoard shows numbers."""

    def close(self) -> None:
        """Write what is left, and close the files."""
        if self.opened is not None:
            self.opened.close()


def scalars(result: TrialResult, task: Task) -> dict[str, float]:
    """The numbers of an execution, by their names in TensorBoard."""
    found = {"cost/real": result.cost, "success": float(result.success)}
    if result.predicted_cost is not None:
        found |= {f"cost/predicted_{name}": value for name, value in vars(result.predicted_cost).items()}
    found |= {f"measures/{name}": value for name, value in result.measures.items()}
    for name in ("one_step_error", "multi_step_error"):
        errors: list[float | None] = [] if result.model is None else getattr(result.model, name)
        named = zip(task.machine.positions, errors, strict=False)
        found |= {f"{name}/{position.name}": error for position, error in named if error is not None}
    return found
