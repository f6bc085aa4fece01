"""How particles should draw the model's errors in a prediction: recorded trials, predicted again in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.configuration import configure
from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file
from vfpilco.common.versions import versions
from vfpilco.machines.load import load, names
from vfpilco.model.posterior import Posterior, sample
from vfpilco.rollout.draws import Draws, Independent, OneFunction
from vfpilco.rollout.particles import simulate
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import MODEL
from vfpilco.studies.records import append, read_lines
from vfpilco.studies.tables import markdown_table
from vfpilco.trials.choosing import with_jitter
from vfpilco.trials.comparison import Coverage, coverage
from vfpilco.trials.learn import planned
from vfpilco.trials.plan import dynamics_of

NAME, SUMMARY = "draws", "recorded trials, predicted with independent, persistent and coherent errors"
PARTICLES = 200
KEY = 2_000_003
"""What the random key of these predictions is derived with."""


@dataclass(frozen=True)
class Persistent(Draws):
    """Errors that decay from step to step, z_t = ρ z_(t-1) + √(1 - ρ²) ε_t: a remedy with a setting."""

    correlation: float = 0.7

    def begin(self, posterior: Posterior, particles: int, steps: int) -> tuple[Array, Array]:
        """No step yet; zeros."""
        return jnp.zeros((), bool), jnp.zeros((particles, posterior.joints), posterior.a.dtype)

    def draw(
        self, posterior: Posterior, known: tuple[Array, Array], x: Float[Array, "M d_x"], z: Float[Array, "M J"]
    ) -> tuple[Float[Array, "M J"], tuple[Array, Array]]:
        """Mean, and standard deviation times correlated numbers."""
        known = self.next(known, z)
        return sample(posterior, x, known[1]), known

    def next(self, known: tuple[Array, Array], z: Float[Array, "M J"]) -> tuple[Array, Array]:
        """The next correlated numbers, from the last ones and fresh ones."""
        begun, last = known
        later = self.correlation * last + float(np.sqrt(1 - self.correlation**2)) * z
        return jnp.ones((), bool), jnp.where(begun, later, z)


WAYS: dict[str, Draws] = {
    "independent": Independent(),
    "persistent (0.7)": Persistent(),
    "one function": OneFunction(),
}
"""How errors are drawn, by name."""


@dataclass(frozen=True)
class DrawsRecord:
    """A recorded trial, predicted in every way: a line of the results file."""

    run: str
    """Its folder, below that of all runs."""
    task: str
    trial: int
    solved: bool
    """Whether this trial, or one before it, succeeded."""
    version: str
    bands: dict[str, Coverage]
    """By the names of `WAYS`."""


class Compared(NamedTuple):
    """The table, in Markdown, and the files that were written."""

    table: str
    files: tuple[Path, ...]


def compare_draws(runs: Path, results: Path, progress: Callable[[str], None] = lambda line: None) -> Compared:
    """Predict the trials of all runs of built-in machines below `runs` again; what is recorded already is not repeated.

    Args:
        runs: A folder with run folders, at any depth.
        results: Where records and page are written.
        progress: Is called with a line for every trial.

    Raises:
        UserError: If there are no such runs, or one is damaged.
    """
    configure()
    file, page = results / f"{NAME}.jsonl", results / f"{NAME}.md"
    known = {(row.run, row.trial) for row in _current(file)}
    for folder in _folders(runs):
        name = folder.path.relative_to(runs).as_posix()
        for trial, index in _trials(folder):
            if (name, trial) not in known:
                append(file, _predicted(folder, name, trial, index))
                progress(f"{name}, trial {trial}")
    records = _current(file)
    if not records:
        raise UserError(f"{runs} holds no runs of a built-in machine by this version: reproduce a study first.")
    table = table_of(records)
    write_file(page, _page(table, records))
    return Compared(table, (page, file))


def _current(file: Path) -> list[DrawsRecord]:
    return [row for row in read_lines(file, DrawsRecord) if row.version == versions()["vfpilco"]]


def _folders(runs: Path) -> Iterator[RunFolder]:
    """The velocity-free runs of built-in machines, by this version."""
    for file in sorted(runs.rglob("run.json")):
        folder = RunFolder(file.parent)
        header = folder.header()
        of_this = header.versions.get("vfpilco") == versions()["vfpilco"] and header.task.name in names()
        if of_this and folder.policies() and isinstance(folder.policy().state, VelocityFree):
            yield folder


def _trials(folder: RunFolder) -> list[tuple[int, int]]:
    """Number and execution of every trial of a policy."""
    return [(row.trial, index) for index, row in enumerate(folder.results()) if row.trial is not None]


def _predicted(folder: RunFolder, name: str, trial: int, index: int) -> DrawsRecord:
    """The particles of all ways against what was executed."""
    header = folder.header()
    task = load(header.task.name)
    plan = planned(task, folder, header)
    executed, (model, _) = folder.trial(index, len(task.machine.positions)), folder.artifact(MODEL, trial)
    learned = folder.policy(trial)
    dynamics = dynamics_of(plan.settings, task.machine, learned.state)
    dynamics = replace(dynamics, sensor=with_jitter(dynamics.sensor, task.machine, model.jitter))
    simulator = plan.simulator(dynamics, learned.policy, predicting=True)
    key, posterior = jax.random.fold_in(jax.random.key(plan.seed), KEY + trial), model.posterior.cast("float64")
    rollouts = {
        way: simulate(replace(simulator, draws=draws), learned.params, posterior, key, PARTICLES)
        for way, draws in WAYS.items()
    }
    bands = {way: coverage(executed, rollout) for way, rollout in rollouts.items()}
    solved = any(row.success for row in folder.results()[: index + 1])
    return DrawsRecord(name, task.name, trial, solved, versions()["vfpilco"], bands)


def table_of(records: Sequence[DrawsRecord]) -> str:
    """For every machine and all, before and from the first success on: coverage, width and log score of every way."""
    machines = sorted({record.task for record in records})
    groups = [(name, [r for r in records if r.task == name]) for name in machines] + [("all", list(records))]
    rows = [
        _row(f"{name}, {when}", found, way)
        for name, group in groups
        for when, solved in (("before the first success", False), ("from the first success on", True))
        for found in ([r for r in group if r.solved == solved],)
        if found
        for way in WAYS
    ]
    header = ["trials", "", "errors", "in 95 % band", "in 50 % band", "width of the 95 % band", "log score"]
    return markdown_table(header, rows)


def _row(name: str, records: Sequence[DrawsRecord], way: str) -> list[str]:
    bands = [record.bands[way] for record in records]
    reference = [record.bands[next(iter(WAYS))].band_width for record in records]
    wide = np.exp(np.mean([np.mean(np.log(np.divide(b.band_width, w))) for b, w in zip(bands, reference, strict=True)]))
    cells = [f"{100 * np.mean([getattr(b, part) for b in bands]):.0f} %" for part in ("band_coverage", "half_coverage")]
    return [name, str(len(records)), way, *cells, f"{wide:.2f}", f"{np.median([b.log_score for b in bands]):.2f}"]


def _page(table: str, records: Sequence[DrawsRecord]) -> str:
    return f"""# {NAME}: {SUMMARY}

    vfpilco reproduce {NAME}

{table}

{len(records)} recorded trials of velocity-free runs, predicted again by {PARTICLES} particles with the model and the
policy of the time. Errors are drawn independently at every step (the paper), correlated in time by 0.7, or as one
function per particle (what vfpilco does). Widths are relative to those of independent errors (geometric mean over
trials and positions). The log score is the median over trials of the mean log density of a sample, by a Gaussian with
the particles' mean and standard deviation: more is better. Every trial is a line of [{NAME}.jsonl]({NAME}.jsonl).
Version {versions()["vfpilco"]}, {date.today().isoformat()}.
"""
