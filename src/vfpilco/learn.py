"""The trial loop: model learning, policy update, policy execution (Sec. II-A)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vfpilco import diagnostics, gp, policies
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import Interrupted, PlantError, UserError, unknown
from vfpilco.execute import Controller, connect, execute
from vfpilco.gp import Model
from vfpilco.history import TrainingSet, VelocityFree
from vfpilco.optimise import improve
from vfpilco.particles import Rollout, Simulator
from vfpilco.plants.base import Plant
from vfpilco.policies import Params, Policy
from vfpilco.runfolder import RunFolder, check_free
from vfpilco.settings import Settings
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.versions import machine, versions
from vfpilco.watch import Noting, Watcher


@dataclass
class Result:
    """What a run has learned so far."""

    task: Task
    settings: Settings
    seed: int
    trials: list[Trial] = field(default_factory=list)
    """Every execution on the plant, explorations first."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The lines of results.jsonl."""
    policy: LearnedPolicy | None = None
    model: Model | None = None

    @property
    def successes(self) -> list[bool]:
        """Whether each policy's trial succeeded, trial 1 first."""
        return [row["success"] for row in self.rows if row["kind"] == "policy"]


def learn(
    task: Task,
    *,
    seed: int = 0,
    trials: int = 5,
    out: str | Path | None = None,
    watch: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Learn `task` from scratch in `trials` trials.

    `settings` override the task's own (see `Settings`); `out` is a folder for everything the run leaves behind;
    `watch` is told what happens. The same seed on the same machine gives the same result, to the bit.
    """
    known = {f.name for f in dataclasses.fields(Settings)}
    for name in settings.keys() - known:
        raise unknown("setting", name, known)
    chosen = dataclasses.replace(task.settings, **settings)
    task.check()
    chosen.check(trials=trials, seed=seed, horizon=task.horizon)
    folder = None if out is None else RunFolder(out)
    if folder is not None:
        check_free(folder.path)
    learner = Learner(task, connect(task), chosen, int(seed), int(trials), folder, watch or Watcher())
    if folder is not None:
        folder.create(
            {
                "task": describe(task),
                "settings": dataclasses.asdict(chosen),
                "seed": learner.seed,
                "trials": learner.trials,
                "versions": versions(),
                "machine": machine(),
            }
        )
    return learner.run()


def describe(task: Task) -> dict[str, Any]:
    """What run.json says of a task."""
    return {
        "name": task.name,
        "positions": [dataclasses.asdict(p) for p in task.positions],
        "inputs": [dataclasses.asdict(i) for i in task.inputs],
        "sampling_time": task.sampling_time,
        "horizon": task.horizon,
        "explorations": task.explorations,
    }


MOST_LOSS = diagnostics.ProjectionLoss(error=0.02, log_density=0.05)  # pyright: ignore[reportArgumentType]
"""What a projected posterior may lose before a person is told."""
MOST_POINTS = 10_000
"""Training points beyond which a fit would take hours and tens of gigabytes."""


class Learner:
    """One run: the three phases, repeated, with every outcome recorded as it happens."""

    def __init__(
        self,
        task: Task,
        plant: Plant,
        settings: Settings,
        seed: int,
        trials: int,
        folder: RunFolder | None,
        watch: Watcher,
    ) -> None:
        self.task, self.settings, self.seed, self.trials = task, settings, seed, trials
        self.folder, self.watch = folder, Noting(watch)
        self.result = Result(task, settings, seed)
        self.history = VelocityFree(
            task.angles,
            len(task.inputs),
            settings.m_q,
            settings.m_u,
            differences=settings.inputs == "differences",
            constant_velocity=settings.prior_mean == "constant-velocity",
        )
        self.key = jax.random.key(seed)
        per_trial = task.horizon - self.history.first_real
        self.rows = per_trial * (task.explorations + trials - 1)
        """The size that training sets are padded to: that of the last trial."""
        if self.rows > MOST_POINTS:
            raise UserError(
                f"{trials} trials of {task.horizon} samples would be {self.rows} training points, and at most "
                f"{MOST_POINTS} can be learned from: ask for fewer trials."
            )
        self.plant = plant

    def run(self) -> Result:
        """Explore, then learn, improve and execute until the last trial."""
        for i in range(self.task.explorations):
            self.explore(i)
        s = self.settings
        policy = policies.make(s.policy, s.basis_functions, self.history, self.result.trials, self.task.limits)
        params: Params | None = None
        for trial in range(1, self.trials + 1):
            model = self.learn_model(trial)
            params = self.update_policy(trial, policy, model, params)
            self.execute_policy(trial, policy, model, params)
        return self.result

    # -- the phases ----------------------------------------------------------------------------------------------

    def explore(self, i: int) -> None:
        """Apply exploring inputs; the same seed gives the same ones to every method."""
        self.watch.phase(0, "exploring")
        inputs = iter(self.task.exploring_inputs(self.seed, i))
        trial = self.on_plant(0, lambda q: next(inputs))
        self.record(trial, {"kind": "explore"})

    def learn_model(self, trial: int) -> Model:
        """Model learning: one GP per joint on all data so far."""
        self.watch.phase(trial, "learning the model")
        with self.timed(trial, "model"):
            settings = self.settings
            model = gp.fit(self.data(), self.rows, settings.inducing or None, self.result.model, settings.kernel)
        for remark in model.remarks:
            self.watch.note(remark)
        self.result.model = model
        if self.folder is not None:
            self.folder.add_arrays("models", trial, model.arrays())
        return model

    def update_policy(self, trial: int, policy: Policy, model: Model, before: Params | None) -> Params:
        """Policy update: gradient steps on the particles' expected cost."""
        self.watch.phase(trial, "improving the policy")
        simulator = self.simulator(policy)
        posterior = model.posterior.cast(self.settings.precision)
        with self.timed(trial, "policy"):
            found = improve(simulator, posterior, before, self.settings, self.key_for(trial, 0), self.watch)
        learned = LearnedPolicy(self.history, policy, found.params)
        self.result.policy = learned
        if self.folder is not None:
            self.folder.add_policy(trial, learned)
            self.folder.add_arrays("optimisations", trial, {"cost": found.costs})
        return found.params

    def execute_policy(self, trial: int, policy: Policy, model: Model, params: Params) -> None:
        """Policy execution: predict what will happen, do it, and compare."""
        self.watch.phase(trial, "predicting")
        posterior = model.posterior.cast(self.settings.precision)
        # What the model gets wrong at one sample it gets wrong at the next one too: errors drawn anew at every step
        # average out and make a band that is too narrow.
        simulator = self.simulator(policy, self.settings.persistence)
        with self.timed(trial, "prediction"):
            predicted = _simulate(simulator, params, posterior, self.key_for(trial, 1), self.settings.particles)
            predicted = jax.tree.map(np.asarray, predicted)
        if self.folder is not None:
            self.folder.add_arrays("predictions", trial, {"q": predicted.q, "u": predicted.u})
        self.watch.phase(trial, "running on the plant")
        learned = LearnedPolicy(self.history, policy, params)
        executed = self.on_plant(trial, learned)
        row = {"kind": "policy", "trial": trial, **self.compare(executed, predicted, model)}
        self.record(executed, row)

    # -- what serves them ----------------------------------------------------------------------------------------

    def data(self) -> TrainingSet:
        """The training set of all trials so far."""
        return TrainingSet.join([self.history.training_set(trial) for trial in self.result.trials])

    def simulator(self, policy: Policy, persistence: float = 0.0) -> Simulator:
        """The particle simulation of this task under `policy`."""
        task = self.task
        return Simulator(self.history, policy, task.sensor, task.start, task.cost, task.horizon, persistence)

    def key_for(self, trial: int, purpose: int) -> jax.Array:
        """A random key of its own for everything a trial draws."""
        return jax.random.fold_in(jax.random.fold_in(self.key, trial), purpose)

    def on_plant(self, trial: int, controller: Controller) -> Trial:
        """Run a trial on the plant and keep it at once; one that fails is kept as a partial file and ends the run."""
        index = len(self.result.trials)
        seed = int(np.random.SeedSequence([self.seed, 1_000_000 + index]).generate_state(1)[0])
        try:
            with self.timed(trial, "plant"):
                executed = execute(self.task, self.plant, controller, seed)
                if self.folder is not None:
                    self.folder.add_trial(index, executed, self.columns)
        except (PlantError, Interrupted) as error:
            if self.folder is not None and error.partial is not None and len(error.partial.q):
                whole = error.partial.steps == self.task.horizon
                self.folder.add_trial(index, error.partial, self.columns, "csv" if whole else "partial.csv")
            raise
        return executed

    @property
    def columns(self) -> list[str]:
        """The names of positions and inputs, as they stand in the CSV files."""
        return [p.name for p in self.task.positions] + [i.name for i in self.task.inputs]

    def compare(self, executed: Trial, predicted: Rollout, model: Model) -> dict[str, Any]:
        """Predicted against real: cost and its band, how much of the trajectory the band covers, model errors."""
        totals = predicted.cost.sum(0)
        low, high = np.quantile(totals, [0.025, 0.975])
        band_low, band_high = np.quantile(predicted.q, [0.025, 0.975], axis=1)
        inside = (executed.judged >= band_low) & (executed.judged <= band_high)
        errors = diagnostics.errors(model, self.history, executed)
        return {
            "predicted_cost": {"mean": float(totals.mean()), "low": float(low), "high": float(high)},
            "band_coverage": float(inside.mean()),
            "model": {
                "noise": model.noise.tolist(),
                "lengthscales": model.lengthscales.tolist(),
                "one_step_error": errors.one_step.tolist(),
                "multi_step_error": errors.multi_step.tolist(),
                "posterior": self.describe_posterior(model, executed),
            },
        }

    def describe_posterior(self, model: Model, executed: Trial) -> dict[str, Any]:
        """Exact or projected, and what the projection loses on the trial just executed."""
        if model.exact:
            return {"kind": "exact", "points": model.points}
        loss = diagnostics.projection_loss(model, self.data(), self.rows, self.history.training_set(executed))
        if max(loss.error) > MOST_LOSS.error or max(loss.log_density) > MOST_LOSS.log_density:
            self.watch.note(
                f"The projected GP posterior is worse than the exact one by {max(loss.error):.1%} in one-step error "
                f"and {max(loss.log_density):.3f} nats: if policies fail, raise --inducing or set it to 0."
            )
        _, inducing, directions = model.posterior.w.shape
        return {
            "kind": "projected",
            "points": model.points,
            "inducing": inducing,
            "directions": directions,
            "excess_error": loss.error.tolist(),
            "lost_log_density": loss.log_density.tolist(),
        }

    def record(self, trial: Trial, row: dict[str, Any]) -> None:
        """Keep an execution and its line in the results, and tell about it."""
        experience = sum((t.duration for t in self.result.trials), 0.0)
        index = len(self.result.trials)
        self.result.trials.append(trial)
        row = {
            "file": f"trials/{index:03d}.csv",
            **row,
            "experience_s": experience,
            **self.task.judge(trial.judged),
        }
        predicted = row.get("predicted_cost")
        if predicted and not predicted["low"] <= row["cost"] <= predicted["high"]:
            self.watch.note(
                f"Trial {row['trial']}: the real cost {row['cost']:.1f} is outside the predicted 95 % band "
                f"{predicted['low']:.1f} to {predicted['high']:.1f}; the model is not yet right where the policy goes."
            )
        row["notes"], self.watch.notes = self.watch.notes, []
        self.result.rows.append(row)
        if self.folder is not None:
            self.folder.add_result(row)
        self.watch.executed(row)

    @contextmanager
    def timed(self, trial: int, phase: str) -> Iterator[None]:
        """Note how long a phase took, in timings.jsonl alone."""
        begin = time.perf_counter()
        yield
        if self.folder is not None:
            self.folder.add_timing({"trial": trial, "phase": phase, "seconds": time.perf_counter() - begin})


@partial(jax.jit, static_argnames=("simulator", "particles"))
def _simulate(simulator: Simulator, params: Params, posterior: Any, key: jax.Array, particles: int) -> Rollout:
    return simulator.rollout(jax.tree.map(jnp.asarray, params), posterior, key, particles)
