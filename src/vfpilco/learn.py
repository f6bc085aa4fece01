"""The trial loop: model learning, policy update, policy execution (Sec. II-A)."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vfpilco import diagnostics, gp, policies
from vfpilco.checkpoints import Checkpoints
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import Interrupted, PlantError, UserError, unknown
from vfpilco.execute import Controller, connect, execute, is_over, to_its_end
from vfpilco.gp import Model
from vfpilco.kernels import Form
from vfpilco.methods import represent
from vfpilco.optimise import improve, start
from vfpilco.particles import Rollout, Simulator
from vfpilco.plants.base import Plant
from vfpilco.policies import Params, Policy
from vfpilco.representation import TrainingSet
from vfpilco.runfolder import RunFolder, check_free
from vfpilco.sensors import Spreading
from vfpilco.settings import Settings, whole
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
    seed: int | None = None,
    trials: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watcher | None = None,
    **settings: Any,
) -> Result:
    """Learn `task` in `trials` trials (as many as the task has, if not given) from `seed` (0).

    `settings` override the task's own (see `Settings`); `out` is a folder for everything the run leaves behind;
    `watch` is told what happens. The same seed on the same machine gives the same result, to the bit.

    With `resume` the run in `out` goes on, if there is one, and ends as if it had never been stopped. What is not given
    is as it was; `trials` may be raised.
    """
    known = {f.name for f in dataclasses.fields(Settings)}
    for name in settings.keys() - known:
        raise unknown("setting", name, known)
    if resume and out is None:
        raise UserError("To go on with a run its folder is needed: name it with --out.")
    task.check()
    folder = None if out is None else RunFolder(out)
    if folder is not None and resume and folder.has("run.json"):
        with folder.held():
            return _go_on(task, seed, trials, folder, watch or Watcher(), settings)
    chosen = dataclasses.replace(task.settings, **settings)
    seed, trials = 0 if seed is None else seed, task.trials if trials is None else trials
    chosen.check(trials=trials, seed=seed, horizon=task.horizon)
    if folder is None:
        return Learner(task, connect(task), chosen, int(seed), int(trials), None, watch or Watcher()).run()
    check_free(folder.path)
    learner = Learner(task, connect(task), chosen, int(seed), int(trials), folder, watch or Watcher())
    with folder.held():
        check_free(folder.path)
        folder.write_header(
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


def _go_on(
    task: Task, seed: int | None, trials: int | None, folder: RunFolder, watch: Watcher, settings: dict[str, Any]
) -> Result:
    """Go on with the run in `folder`, which is held."""
    header = folder.header()
    if trials is not None:
        whole("trials", trials, 1)
    try:
        settings_then, seed_then, trials_then = Settings(**header["settings"]), header["seed"], header["trials"]
        settings_then.check(trials=trials_then, seed=seed_then, horizon=task.horizon)
        then, now = header["task"], describe(task)
        given = {"seed": (seed_then, seed), **{n: (getattr(settings_then, n), v) for n, v in settings.items()}}
        changed = [f"task.{name}" for name in now if then.get(name) != json.loads(json.dumps(now[name]))]
    except (KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"{folder.path / 'run.json'} does not describe a run of this version ({error}).") from error
    if changed:
        raise UserError(
            f"{folder.path} was learned with another {' and '.join(changed)}: go on with that task, or start a new run."
        )
    for name, (was, value) in given.items():
        if value is not None and value != was:
            raise UserError(
                f"{folder.path} was learned with {name} {was}, got {value}: leave --{name.replace('_', '-')} out, or "
                "start a new run."
            )
    trials = int(trials_then if trials is None else trials)
    if trials < trials_then:
        raise UserError(f"{folder.path} is a run of {trials_then} trials, got {trials}: ask for more, not fewer.")
    learner = Learner(task, connect(task), settings_then, seed_then, trials, folder, watch)
    if header.get("versions") != versions() or header.get("machine") != machine():
        watch.note("The run was begun with other versions or on another machine: its last digits may differ from here.")
    if trials > trials_then:
        folder.write_header({**header, "trials": trials})
    learner.restore()
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
        self.representation = represent(task, settings)
        kinds = tuple(self.representation.input_kinds())
        self.form = Form(settings.kernel, kinds)
        self.form.start(np.ones(len(kinds)))  # a kernel that does not fit is refused before the plant moves
        self.key = jax.random.key(seed)
        self.rows = self.representation.rows(task.horizon) * (task.explorations + trials - 1)
        """The size that training sets are padded to: that of the last trial."""
        if self.rows > MOST_POINTS:
            raise UserError(
                f"{trials} trials of {task.horizon} samples would be {self.rows} training points, and at most "
                f"{MOST_POINTS} can be learned from: ask for fewer trials."
            )
        self.plant = plant
        if self.representation.full_state and not hasattr(plant, "true_velocities"):
            raise UserError(
                f"The plant of task {task.name!r} does not tell its true state (true_positions, true_velocities), as "
                "the method full-state needs: choose --method vf or pms."
            )

    def restore(self) -> None:
        """Take up what the folder holds."""
        assert self.folder is not None
        self.folder.check()
        result = self.result
        result.rows = self.folder.results()
        result.trials = [self.folder.trial(i, len(self.task.positions)) for i in range(len(result.rows))]
        for row in result.rows:
            self.watch.executed(row)
        last = len(result.successes)
        if last:
            result.model = Model.from_arrays(*self.folder.arrays("models", last))
            result.policy = self.folder.policy(last)
            if not self.folder.has("policy.safetensors"):
                self.folder.add_policy(last, result.policy)

    def run(self) -> Result:
        """Explore, then learn, improve and execute until the last trial; what is done already is not done again."""
        for i in range(len(self.result.trials), self.task.explorations):
            self.explore(i)
        s = self.settings
        explored = self.result.trials[: self.task.explorations]
        self.data()  # is there anything to learn from?
        policy = policies.make(s.policy, s.basis_functions, self.representation, self.task, explored)
        params = None if self.result.policy is None else self.result.policy.params
        for trial in range(len(self.result.successes) + 1, self.trials + 1):
            model = self.learn_model(trial)
            params = self.update_policy(trial, policy, model, params)
            self.execute_policy(trial, policy, model, params)
        return self.result

    # -- the phases ----------------------------------------------------------------------------------------------

    def explore(self, i: int) -> None:
        """Apply exploring inputs; the same seed gives the same ones to every method."""
        self.watch.phase(0, "exploring")
        trial = self.on_plant(0, self.task.exploring(self.seed, i))
        self.record(trial, {"kind": "explore"})

    def learn_model(self, trial: int) -> Model:
        """Model learning: one GP per joint on all data so far."""
        self.watch.phase(trial, "learning the model")

        def fitted() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
            settings = self.settings
            known = self.task.sensor.spread() if isinstance(self.task.sensor, Spreading) else ()
            least = self.representation.least_noise(known) if known else None
            model = gp.fit(self.data(), self.rows, settings.inducing or None, self.result.model, self.form, least)
            for remark in model.remarks:
                self.watch.note(remark)
            return model.arrays(), model.about()

        self.result.model = model = Model.from_arrays(*self.done_once("models", trial, "model", fitted))
        return model

    def update_policy(self, trial: int, policy: Policy, model: Model, before: Params | None) -> Params:
        """Policy update: gradient steps on the particles' expected cost."""
        self.watch.phase(trial, "improving the policy")
        if self.folder is not None and self.folder.has(f"policies/{trial:03d}.safetensors"):
            learned = self.folder.policy(trial)
            Checkpoints(self.folder, trial, self.watch).remove()
            self.watch.notes += self.folder.arrays("optimisations", trial)[1]["notes"]
        else:
            learned = self.improve_policy(trial, policy, model, before)
        self.result.policy = learned
        return learned.params

    def improve_policy(self, trial: int, policy: Policy, model: Model, before: Params | None) -> LearnedPolicy:
        """Optimise from the last checkpoint on, and keep the policy."""
        simulator = self.simulator(policy)
        posterior = model.posterior.cast(self.settings.precision)
        key = self.key_for(trial, 0)
        keeper = Checkpoints(self.folder, trial, self.watch)
        with self.timed(trial, "policy"):
            begin = start(simulator, before, self.settings, key)
            now = keeper.standing(begin, self.settings.shards)
            speeds = policies.speeds(policy, begin.progress.params, self.task, self.result.trials)
            found = improve(simulator, posterior, before, self.settings, key, self.watch, now, keeper, speeds)
        learned = LearnedPolicy(self.representation, policy, found.params, self.task.reference)
        if self.folder is not None:
            self.folder.add_arrays("optimisations", trial, {"cost": found.costs}, notes=keeper.notes)
            self.folder.add_policy(trial, learned)
            keeper.remove()
        return learned

    def execute_policy(self, trial: int, policy: Policy, model: Model, params: Params) -> None:
        """Policy execution: predict what will happen, do it, and compare."""
        self.watch.phase(trial, "predicting")
        posterior = model.posterior.cast(self.settings.precision)
        # What the model gets wrong at one sample it gets wrong at the next one too: errors drawn anew at every step
        # average out and make a band that is too narrow.
        simulator = self.simulator(policy, self.settings.persistence)

        def predict() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
            predicted = _simulate(simulator, params, posterior, self.key_for(trial, 1), self.settings.particles)
            return {name: np.asarray(array) for name, array in predicted._asdict().items()}, {}

        predicted = Rollout(**self.done_once("predictions", trial, "prediction", predict)[0])  # pyright: ignore
        self.watch.phase(trial, "running on the plant")
        learned = LearnedPolicy(self.representation, policy, params, self.task.reference)
        executed = self.on_plant(trial, learned)
        row = {"kind": "policy", "trial": trial, **self.compare(executed, predicted, model)}
        self.record(executed, row)

    # -- what serves them ----------------------------------------------------------------------------------------

    def data(self) -> TrainingSet:
        """The training set of all trials so far."""
        data = TrainingSet.join([self.representation.training_set(trial) for trial in self.result.trials])
        if not len(data.x):
            raise UserError(
                f"All trials of task {self.task.name!r} so far ended within a few samples: nothing can be learned from "
                "them. Explore more gently, or end a trial later."
            )
        return data

    def simulator(self, policy: Policy, persistence: float = 0.0) -> Simulator:
        """The particle simulation of this task under `policy`."""
        task = self.task
        reference = None if task.reference is None else tuple(map(tuple, task.reference.tolist()))
        return Simulator(
            self.representation, policy, task.sensor, task.start, task.cost, task.horizon, persistence, reference
        )

    def key_for(self, trial: int, purpose: int) -> jax.Array:
        """A random key of its own for everything a trial draws."""
        return jax.random.fold_in(jax.random.fold_in(self.key, trial), purpose)

    def done_once(
        self, kind: str, trial: int, phase: str, work: Callable[[], tuple[dict[str, np.ndarray], dict[str, Any]]]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays that `work` gives, or gave before the run was stopped, with the notes that were made then."""
        if self.folder is not None and self.folder.has(f"{kind}/{trial:03d}.safetensors"):
            arrays, about = self.folder.arrays(kind, trial)
            self.watch.notes += about["notes"]
            return arrays, about
        said = len(self.watch.notes)
        with self.timed(trial, phase):
            arrays, about = work()
        if self.folder is not None:
            self.folder.add_arrays(kind, trial, arrays, **about, notes=self.watch.notes[said:])
        return arrays, about

    def on_plant(self, trial: int, controller: Controller) -> Trial:
        """Run a trial on the plant and keep it at once; one that fails is kept as a partial file and ends the run."""
        index = len(self.result.trials)
        seed = int(np.random.SeedSequence([self.seed, 1_000_000 + index]).generate_state(1)[0])
        full_state = self.representation.full_state
        if self.folder is None:
            return execute(self.task, self.plant, controller, seed, full_state=full_state)
        task, d_q = self.task, len(self.task.positions)
        if self.folder.logged_trial(index, self.columns, d_q, task.sampling_time, self.finished):
            return self.folder.trial(index, d_q)
        log = self.folder.log_trial(index, self.columns, task.sampling_time, task.horizon)
        with self.timed(trial, "plant"):
            try:
                executed = execute(task, self.plant, controller, seed, log, full_state=full_state)
            except (PlantError, Interrupted) as error:
                kept = None if error.partial is None else self.finished(error.partial)
                if kept is not None:
                    self.folder.keep_trial(index, kept, self.columns, log)
                raise
            finally:
                log.close()
            self.folder.keep_trial(index, executed, self.columns, log)
        return executed

    def finished(self, trial: Trial) -> Trial | None:
        """What is to be learned from a recorded execution; None if it was cut off."""
        if trial.steps == self.task.horizon or (trial.steps and is_over(self.task, trial.q[-1])):
            return to_its_end(self.task, trial)
        return None

    @property
    def columns(self) -> list[str]:
        """The names of positions and inputs, as they stand in the CSV files."""
        return [p.name for p in self.task.positions] + [i.name for i in self.task.inputs]

    def compare(self, executed: Trial, predicted: Rollout, model: Model) -> dict[str, Any]:
        """Predicted against real: cost and its band, how much of the trajectory the band covers, model errors."""
        totals = predicted.cost.sum(0)
        low, high = np.quantile(totals, [0.025, 0.975])
        band_low, band_high = np.quantile(predicted.q[: len(executed.q)], [0.025, 0.975], axis=1)
        inside = (executed.judged >= band_low) & (executed.judged <= band_high)
        errors = diagnostics.errors(model, self.representation, executed)
        return {
            "predicted_cost": {"mean": float(totals.mean()), "low": float(low), "high": float(high)},
            "band_coverage": float(inside.mean()),
            "model": {
                "noise": model.noise.tolist(),
                "lengthscales": [finite(joint) for joint in model.lengthscales],
                "one_step_error": finite(errors.one_step),
                "multi_step_error": finite(errors.multi_step),
                "posterior": self.describe_posterior(model, executed),
            },
        }

    def describe_posterior(self, model: Model, executed: Trial) -> dict[str, Any]:
        """Exact or projected, and what the projection loses on the trial just executed."""
        if model.exact:
            return {"kind": "exact", "points": model.points}
        loss = diagnostics.projection_loss(model, self.data(), self.rows, self.representation.training_set(executed))
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
        if trial.steps < self.task.horizon:
            row["ended_s"] = trial.duration
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


def finite(numbers: np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: None for those that are not finite."""
    return [float(v) if np.isfinite(v) else None for v in numbers]


@partial(jax.jit, static_argnames=("simulator", "particles"))
def _simulate(simulator: Simulator, params: Params, posterior: Any, key: jax.Array, particles: int) -> Rollout:
    return simulator.rollout(jax.tree.map(jnp.asarray, params), posterior, key, particles)
