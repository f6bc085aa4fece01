"""`learn` as users call it: by name, with a progress bar, and a result that plots itself."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from vfpilco.common.configuration import configure
from vfpilco.data.watcher import Watcher, Watchers
from vfpilco.interactive.notebook import NotebookDisplay, in_notebook
from vfpilco.interactive.result import Result
from vfpilco.interactive.terminal import Display
from vfpilco.machines.load import as_task
from vfpilco.tasks.task import Task
from vfpilco.trials import learn as core
from vfpilco.trials import tell as telling
from vfpilco.trials.settings import Settings


def learn(
    task: Task | str | Path,
    *,
    seed: int | None = None,
    trials: int | None = None,
    until_successes: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watcher | None = None,
    progress: bool | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Result:
    """Learn a task: explore, then repeat model learning, policy optimisation and execution.

    The same seed on the same machine gives the same result, to the bit.

    Args:
        task: What to learn: a `Task`, the name of a built-in one, or the path of a Python file that has one.
        seed: Fixes all randomness; 0 if not given.
        trials: How many policies to learn and execute; the task's own number if not given.
        until_successes: End earlier, after so many successes in a row; all trials are made if not given.
        out: A folder for everything the run writes; nothing is written if not given.
        resume: Continue the run in `out`, if there is one; it ends as if it had never been interrupted. What is not
            given stays as it was; `trials` may be raised, `until_successes` and `max_risk` may change.
        watch: Is informed about everything that happens.
        progress: Whether to show what happens; in notebooks and terminals if not given.
        settings: All settings; the defaults with the task's own changes if not given.
        **changes: Single settings that differ from these, such as `state=VelocityFree(m_q=1)`, `kernel=SE()`,
            `policy=RBF(100)` or `steps=300`; see `Settings`.

    Returns:
        Trials, results, the last policy and the model behind it; `print` shows a table, and it plots itself.

    Raises:
        UserError: If the task or a setting is wrong, before the plant moves.
        PlantError: If the plant fails; with `out` everything until then is kept and the run can be resumed.
        TooRisky: If the predicted risk of a policy is above `max_risk`; likewise.

    Example:
        >>> import vfpilco
        >>> result = vfpilco.learn("cartpole", trials=5, out="runs/first")  # doctest: +SKIP
        >>> result.successes  # doctest: +SKIP
        [False, False, True, True, True]
    """
    configure()
    task = as_task(task)
    with following(task.trials if trials is None else trials, watch, progress) as all_watchers:
        run = core.learn(
            task,
            seed=seed,
            trials=trials,
            until_successes=until_successes,
            out=out,
            resume=resume,
            watch=all_watchers,
            settings=settings,
            **changes,
        )
    return Result.of(run)


@functools.wraps(telling.tell)
def tell(*args: Any, **keywords: Any) -> Result:  # noqa: D103
    return Result.of(telling.tell(*args, **keywords))


@contextmanager
def following(trials: int, watch: Watcher | None, progress: bool | None) -> Iterator[Watcher | None]:
    """The watchers of a run: the user's own, and a display if it is wanted and there is something to show it on."""
    notebook = in_notebook()
    if not (progress or (progress is None and (notebook or _is_terminal()))):
        yield watch
        return
    display = NotebookDisplay(trials) if notebook else Display(Console(stderr=True), trials)
    with display:
        yield display if watch is None else Watchers(display, watch)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
