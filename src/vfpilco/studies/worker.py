"""One run of a study in a process of its own: `python -m vfpilco.studies.worker ORDER`.

It prints nothing but an error, in one sentence. A run that is interrupted or fails can be resumed by the same order.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from vfpilco.common import interrupts
from vfpilco.common.errors import UserError
from vfpilco.data.records import from_json_types, to_json_types
from vfpilco.data.watcher import Watcher
from vfpilco.studies.base import Job, load_task
from vfpilco.trials.learn import learn
from vfpilco.trials.settings import Settings

FAILED, STOPPED = 2, 130
"""The exit codes after an error and after an interrupt."""


@dataclass(frozen=True)
class Order:
    """What a worker is asked to do, as JSON on its command line."""

    task: str
    trials: int
    seed: int
    settings: dict[str, Any]
    """What `Settings.described` returned."""
    out: str
    """The folder of the run."""
    until_successes: int = 0
    """It ends after so many successes in a row; 0: after all trials."""

    @staticmethod
    def of(job: Job, out: Path) -> Order:
        """The order to make the run of a study, or to resume it."""
        study = job.study
        return Order(job.task, study.trials, job.seed, job.settings.described(), str(out), study.until_successes)

    def to_json(self) -> str:
        """The order as text."""
        return json.dumps(to_json_types(self))

    @staticmethod
    def from_json(text: str) -> Order:
        """The order in a text.

        Raises:
            UserError: If the text is not an order.
        """
        try:
            return from_json_types(json.loads(text), Order)
        except ValueError as error:
            raise UserError(f"A worker needs an order in JSON, got {text[:100]!r} ({error}).") from error


class Silent(Watcher):
    """Prints nothing; notes are in the run's results."""

    def note(self, text: str) -> None:
        pass


def execute(order: Order) -> None:
    """Make a run, or resume it."""
    task = load_task(order.task)
    settings = Settings.from_description(order.settings, task.settings)
    learn(
        task,
        seed=order.seed,
        trials=order.trials,
        until_successes=order.until_successes,
        out=order.out,
        resume=True,
        watch=Silent(),
        settings=settings,
    )


def main(argv: list[str]) -> int:
    """Execute the order on the command line; the exit code."""
    try:
        execute(Order.from_json(" ".join(argv)))
    except UserError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        return _fail(f"{error.filename or 'A file'} cannot be used ({error.strerror or error}).", FAILED)
    except KeyboardInterrupt:
        return _fail("The run was interrupted: it can be resumed.", STOPPED)
    return 0


def stop_on_signals() -> None:
    """Let Ctrl-C and the signals that end programs interrupt the run, unless they are ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def stop_with_parent() -> None:
    """Interrupt the run when standard input ends: a pipe that the process that gave the order holds open."""

    def attend() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=attend, daemon=True).start()


def _interrupt(number: int, frame: FrameType | None) -> None:
    interrupts.request()
    raise KeyboardInterrupt


def _fail(sentence: str, code: int) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    stop_on_signals()
    stop_with_parent()
    sys.exit(main(sys.argv[1:]))
