"""TensorBoard: the scalars of a run and a figure of every trial, as it learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vfpilco.errors import UserError
from vfpilco.picture import pyplot, run_figure
from vfpilco.runfolder import RunFolder
from vfpilco.task import Task
from vfpilco.watch import Watcher


class Board(Watcher):
    """Writes what happens in a run to the folder `tensorboard` in it."""

    def __init__(self, task: Task, out: Path, note: Callable[[str], None]) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise UserError("--tensorboard needs tensorboardX: pip install 'vfpilco[tensorboard]'.") from error
        self.task, self.folder, self.tell, self.trial = task, RunFolder(out), note, 0
        self.make: Callable[[], Any] = lambda: SummaryWriter(str(out / "tensorboard"))
        self.made: Any = None

    @property
    def writer(self) -> Any:
        """Made when there is something to write: until then the run's folder has to be empty."""
        self.made = self.made or self.make()
        return self.made

    def phase(self, trial: int, name: str) -> None:
        self.trial = trial

    def step(self, done: int, total: int, cost: float) -> None:
        self.writer.add_scalar(f"optimisation/trial_{self.trial}", cost, done)

    def executed(self, row: dict[str, Any]) -> None:
        trial = row.get("trial", 0)
        for name, value in scalars(row, self.task).items():
            self.writer.add_scalar(name, value, trial)
        if row["kind"] == "policy":
            try:
                figure = run_figure(self.task, self.folder, trial)
                self.writer.add_figure("trial", figure, trial)
                pyplot().close(figure)
            except UserError as error:
                self.tell(f"There is no figure in TensorBoard: {error}")
        self.writer.flush()

    def note(self, text: str) -> None:
        """Notes are for people."""

    def close(self) -> None:
        """Write what is left."""
        if self.made is not None:
            self.made.close()


def scalars(row: dict[str, Any], task: Task) -> dict[str, float]:
    """The numbers of an execution, by name."""
    found = {"cost/real": row["cost"], "success": float(row["success"])}
    found |= {f"cost/predicted_{name}": value for name, value in row.get("predicted_cost", {}).items()}
    found |= {f"measures/{name}": value for name, value in row.get("measures", {}).items()}
    for name in ("one_step_error", "multi_step_error"):
        errors = row.get("model", {}).get(name, [])
        found |= {f"{name}/{p.name}": e for p, e in zip(task.positions, errors, strict=False)}
    return found
