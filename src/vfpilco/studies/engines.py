"""Where the runs of a study are made: in processes on this computer, or on a Ray cluster.

Threads and shards of a run are fixed by its settings, so its numbers do not depend on the engine.
"""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from vfpilco.common.errors import UserError
from vfpilco.storage.runfolder import RunFolder
from vfpilco.studies.base import Job
from vfpilco.studies.collect import collect
from vfpilco.studies.records import RunRecord
from vfpilco.studies.worker import Order


class Outcome(NamedTuple):
    """How a run ended: with a record, or with a problem."""

    job: Job
    record: RunRecord | None
    problem: str = ""


PINNED = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.argv[2], sys.argv[2:])"
"""A program that pins itself to one core and then becomes another program."""


class Attendance:
    """Pipes to running workers: one that is closed, also by the end of this process, signals its worker to stop."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.ended = False

    def execute(self, program: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a worker to its end, or until this process ends."""
        reading, writing = os.pipe()
        self.open.add(writing)
        try:
            if self.ended:
                return subprocess.CompletedProcess(program, 1, "", "stopped")
            return subprocess.run(program, capture_output=True, text=True, check=False, stdin=reading)
        finally:
            os.close(reading)
            self._close(writing)

    def end(self) -> None:
        """Tell all workers to stop, also those that are being started."""
        self.ended = True
        for writing in list(self.open):
            self._close(writing)

    def _close(self, writing: int) -> None:
        if writing in self.open:
            self.open.discard(writing)
            os.close(writing)


def pinned(program: list[str], core: int | None) -> list[str]:
    """The same program pinned to a core, if one is given and that is possible."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        return program
    return [sys.executable, "-c", PINNED, str(core), *program]


def free_cores(most: int | None = None) -> queue.SimpleQueue[int]:
    """The cores of this computer, to be taken and put back; as many as given, each perhaps several times."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in range(len(cores) if most is None else most):
        free.put(cores[i % len(cores)])
    return free


def run(job: Job, out: Path, core: int | None = None, attendance: Attendance | None = None) -> Outcome:
    """Make a run, or resume it, in a process of its own; pinned to a core, if one is given."""
    program = [sys.executable, "-m", "vfpilco.studies.worker", Order.of(job, out).to_json()]
    done = (attendance or Attendance()).execute(pinned(program, core))
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return Outcome(job, None, lines[-1] if lines else f"exit code {done.returncode}")
    try:
        return Outcome(job, collect(job, RunFolder(out)))
    except (UserError, OSError) as error:
        return Outcome(job, None, str(error))


def local(jobs: list[Job], out: Path, workers: int | None = None) -> Iterator[Outcome]:
    """Runs in parallel on this computer, each pinned to a core."""
    free = free_cores(min(workers or free_cores().qsize(), len(jobs)))

    def on_a_core(job: Job) -> Outcome:
        core = free.get()
        try:
            return run(job, out / job.name, core, attendance)
        finally:
            free.put(core)

    attendance = Attendance()
    with ThreadPoolExecutor(free.qsize() or 1) as pool:
        pending: set[Future[Outcome]] = {pool.submit(on_a_core, job) for job in jobs}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in pending:
                future.cancel()
            attendance.end()


def on_ray(jobs: list[Job], out: Path, workers: int | None = None) -> Iterator[Outcome]:
    """Runs on a Ray cluster: the one at RAY_ADDRESS, or one on this computer.

    No shared folder is needed: the files of a run are sent to its worker and back.
    """
    try:
        import ray
        from ray.exceptions import RayError
    except ImportError as error:
        raise UserError("The engine ray needs Ray: pip install 'vfpilco[ray]'.") from error
    if not ray.is_initialized():
        ray.init(
            num_cpus=None if os.environ.get("RAY_ADDRESS") else workers,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    remote = ray.remote(num_cpus=1, max_retries=0)(_on_worker)
    pending: dict[Any, Job] = {remote.remote(job, _read_files(out / job.name)): job for job in jobs}
    try:
        while pending:
            (done,), _ = ray.wait(list(pending), num_returns=1)
            job = pending.pop(done)
            try:
                outcome, files = ray.get(done)
            except RayError as error:
                yield Outcome(job, None, f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}")
                continue
            _write_files(out / job.name, files)
            yield Outcome(job, *outcome[1:])
    finally:
        for reference in pending:
            ray.cancel(reference)


def _on_worker(job: Job, files: dict[str, bytes]) -> tuple[Outcome, dict[str, bytes]]:
    """Make or resume a run on another computer, from the files it has so far."""
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as folder:
        out = Path(folder) / job.name
        _write_files(out, files)
        outcome = run(job, out)
        return outcome, _read_files(out)


def _read_files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


ENGINES: dict[str, Callable[[list[Job], Path, int | None], Iterator[Outcome]]] = {"local": local, "ray": on_ray}
"""The engines by name: each makes runs in a folder and yields every outcome as soon as it is known."""
