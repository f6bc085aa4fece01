"""Where the runs of a study are made: in processes on this machine, or on a Ray cluster.

Threads and shards of a run are fixed by its settings, so its numbers do not depend on the engine.
"""

from __future__ import annotations

import json
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

import numpy as np

from vfpilco import diagnostics, tasks
from vfpilco.errors import UserError
from vfpilco.evaluate import evaluate
from vfpilco.gp import Model
from vfpilco.methods import represent
from vfpilco.runfolder import RunFolder
from vfpilco.settings import Settings
from vfpilco.studies.base import Job, Record


class Outcome(NamedTuple):
    """What became of a run."""

    job: Job
    record: Record | None
    problem: str = ""


PINNED = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.argv[2], sys.argv[2:])"
"""Becomes another program, on one core."""


def run(job: Job, out: Path, core: int | None = None) -> Outcome:
    """Make a run, or go on with it, in a process of its own; on one core, if it is given."""
    program = [sys.executable, "-m", "vfpilco"]
    if core is not None and hasattr(os, "sched_setaffinity"):
        program = [sys.executable, "-c", PINNED, str(core), *program]
    done = subprocess.run(
        [*program, *job.arguments(out)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return Outcome(job, None, lines[-1] if lines else f"exit code {done.returncode}")
    try:
        return Outcome(job, record(job, RunFolder(out)))
    except (UserError, OSError) as error:
        return Outcome(job, None, str(error))


def record(job: Job, folder: RunFolder) -> Record:
    """A finished run in one object."""
    task, header = tasks.load(job.task), folder.header()
    timings = [json.loads(line) for line in (folder.path / "timings.jsonl").read_text().splitlines()]
    last = task.explorations + job.trials - 1
    model = Model.from_arrays(*folder.arrays("models", job.trials))
    trial = folder.trial(last, len(task.positions))
    errors = diagnostics.one_step_errors(model, represent(task, Settings(**job.settings)), trial)
    extra = {}
    if task.path is not None:
        trials = [folder.trial(i, len(task.positions)) for i in range(last + 1)]
        extra["paths"] = [np.round(task.path(trial.judged), 5).tolist() for trial in trials]
    if task.tests:
        tried = [evaluate(task, folder.policy(k), task.tests, job.seed) for k in range(1, job.trials + 1)]
        extra["tests"] = [{"success": tests.successes, "measures": tests.measures} for tests in tried]
        extra["test_paths"] = [np.round(tested.judged, 5).tolist() for tested in tried[-1].trials]
        extra["last_trial"] = np.round(trial.q, 5).tolist()
    if job.particles:
        predicted = folder.arrays("predictions", job.trials)[0]["q"][:, : job.particles]
        extra["executed"] = np.round(trial.judged, 4).tolist()
        extra["particles"] = np.round(predicted.astype(float), 3).tolist()
    return {
        "configuration": job.configuration,
        "task": job.task,
        "trials": job.trials,
        "seed": job.seed,
        "settings": job.settings,
        "versions": header["versions"],
        "machine": header["machine"],
        "seconds": round(sum(timing["seconds"] for timing in timings), 1),
        "results": folder.results(),
        "one_step_errors": [[float(f"{e:.4g}") for e in column] for column in np.abs(errors).T],
        **extra,
    }


def local(jobs: list[Job], out: Path, workers: int | None = None) -> Iterator[Outcome]:
    """Runs side by side on this machine, each on a core of its own."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in range(min(workers or len(cores), len(jobs))):
        free.put(cores[i % len(cores)])

    def on_a_core(job: Job) -> Outcome:
        core = free.get()
        try:
            return run(job, out / job.name, core)
        finally:
            free.put(core)

    with ThreadPoolExecutor(free.qsize() or 1) as pool:
        pending: set[Future[Outcome]] = {pool.submit(on_a_core, job) for job in jobs}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in pending:
                future.cancel()


def on_ray(jobs: list[Job], out: Path, workers: int | None = None) -> Iterator[Outcome]:
    """Runs on a Ray cluster: the one that RAY_ADDRESS names, or one on this machine.

    A worker needs no folder in common with us: the files of a run are sent back.
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
    remote = ray.remote(num_cpus=1, max_retries=0)(_elsewhere)
    pending: dict[Any, Job] = {remote.remote(job, _files(out / job.name)): job for job in jobs}
    try:
        while pending:
            (done,), _ = ray.wait(list(pending), num_returns=1)
            job = pending.pop(done)
            try:
                outcome, files = ray.get(done)
            except RayError as error:
                yield Outcome(job, None, f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}")
                continue
            for name, content in files.items():
                path = out / job.name / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            yield Outcome(job, *outcome[1:])
    finally:
        for reference in pending:
            ray.cancel(reference)


def _elsewhere(job: Job, files: dict[str, bytes]) -> tuple[Outcome, dict[str, bytes]]:
    """Make or go on with a run on another machine, from the files it has so far."""
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as folder:
        out = Path(folder) / job.name
        for name, content in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(content)
        outcome = run(job, out)
        return outcome, _files(out)


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


ENGINES: dict[str, Callable[[list[Job], Path, int | None], Iterator[Outcome]]] = {"local": local, "ray": on_ray}
"""The engines that can be chosen, by name: each makes runs in a folder and gives every outcome as it comes."""
