"""What is recorded of a finished run, from its folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vfpilco.common.configuration import configure
from vfpilco.data.trial import Trial
from vfpilco.model import diagnostics
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import MODEL, PREDICTION
from vfpilco.studies.base import Job, load_task
from vfpilco.studies.records import PolicyTests, RunRecord
from vfpilco.trials.evaluate import evaluate
from vfpilco.trials.plan import dynamics_of


def collect(job: Job, folder: RunFolder) -> RunRecord:
    """The record of a finished run.

    Raises:
        UserError: If a file of the run is damaged or missing.
    """
    configure()
    study, task, settings, header = job.study, load_task(job.task), job.settings, folder.header()
    positions = len(task.machine.positions)
    trials = [folder.trial(i, positions) for i in range(len(folder.results()))]
    last = sum(row.kind == "policy" for row in folder.results())
    model, _ = folder.artifact(MODEL, last)
    state = folder.policy(last).state
    dynamics = dynamics_of(settings, task.machine, state)
    errors = np.abs(diagnostics.one_step_errors(model, dynamics, trials[-1]))
    return RunRecord(
        configuration=job.configuration.name,
        task=job.task,
        trials=study.trials,
        seed=job.seed,
        settings=settings.described(),
        versions=header.versions,
        machine=header.machine,
        seconds=round(sum(timing.seconds for timing in folder.timings()), 1),
        results=folder.results(),
        m_u=state.m_u if isinstance(state, VelocityFree) else None,
        chatter=[float(f"{chatter(trial, task.machine.limits):.4g}") for trial in trials[-last:]],
        one_step_errors=[[float(f"{error:.4g}") for error in column] for column in errors.T],
        **_paths(job, trials),
        **_tests(job, folder, trials[-1]),
        **_particles(job, folder, trials[-1]),
    )


def chatter(trial: Trial, limits: Float[np.ndarray, "d_u"]) -> float:
    """Mean |Δu| in the last second of a trial, as a fraction of the limits; 0 if it has a single input."""
    changes = np.abs(np.diff(trial.u, axis=0)) / limits
    last = changes[-max(1, round(1 / trial.sampling_time)) :]
    return float(last.mean()) if len(last) else 0.0


def _paths(job: Job, trials: list[Trial]) -> dict[str, Any]:
    """The path of every execution, if the study defines one."""
    path = job.study.path
    return {} if path is None else {"paths": [_rounded(path(trial.evaluated), 5) for trial in trials]}


def _tests(job: Job, folder: RunFolder, last: Trial) -> dict[str, Any]:
    """Further executions of every policy, if the study has some."""
    study = job.study
    if not study.tests:
        return {}
    task = load_task(job.task)
    found = [evaluate(task, folder.policy(k), study.tests, job.seed) for k in range(1, study.trials + 1)]
    return {
        "tests": [PolicyTests(tests.successes, tests.measures) for tests in found],
        "test_paths": [_rounded(trial.evaluated, 5) for trial in found[-1].trials],
        "last_trial": _rounded(last.q, 5),
    }


def _particles(job: Job, folder: RunFolder, last: Trial) -> dict[str, Any]:
    """Particles that predicted the last trial, and that trial, if the study keeps some."""
    study = job.study
    if not study.particles:
        return {}
    predicted, _ = folder.artifact(PREDICTION, study.trials)
    particles = np.asarray(predicted.q[:, : study.particles], dtype=float)
    return {"executed": _rounded(last.evaluated, 4), "particles": _rounded(particles, 3)}


def _rounded(values: np.ndarray, digits: int) -> list[Any]:
    return np.round(values, digits).tolist()
