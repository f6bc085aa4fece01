"""One run: the three phases of the method, repeated, with every outcome recorded as it happens (Sec. II-A)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vfpilco import gp, policies
from vfpilco.checkpoints import Checkpoints
from vfpilco.comparison import compare
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import Interrupted, PlantError, UserError
from vfpilco.execute import Controller, execute, to_its_end
from vfpilco.gp import Model
from vfpilco.journal import Journal, Result
from vfpilco.kernels import Form
from vfpilco.limits import gentleness, slew_of
from vfpilco.methods import represent
from vfpilco.optimise import improve, start
from vfpilco.particles import Rollout, Simulator
from vfpilco.plants.base import Plant
from vfpilco.policies import Params, Policy
from vfpilco.replay import difference
from vfpilco.representation import TrainingSet
from vfpilco.runfolder import RunFolder
from vfpilco.sensors import Spreading, described
from vfpilco.settings import Settings
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.watch import Noting, Watcher

MOST_POINTS = 10_000
"""Training points beyond which a fit would take hours and tens of gigabytes."""


class Learner:
    """One run: the three phases, repeated, with every outcome recorded as it happens."""

    def __init__(
        self,
        task: Task,
        plant: Plant | None,
        settings: Settings,
        seed: int,
        trials: int,
        folder: RunFolder | None,
        watch: Watcher,
    ) -> None:
        if settings.sensor != "task":
            task = replace(task, sensor=described(settings.sensor, len(task.positions)))
        self.task, self.settings, self.seed, self.trials = task, settings, seed, trials
        self.journal = Journal(Result(task, settings, seed), folder, Noting(watch))
        self.result, self.folder, self.watch = self.journal.result, folder, self.journal.watch
        self.representation = represent(task, settings)
        kinds = tuple(self.representation.input_kinds())
        self.form = Form(settings.kernel, kinds)
        self.form.start(np.ones(len(kinds)))  # a kernel that does not fit is refused before the plant moves
        self.slew = slew_of(settings.slew, task.limits)
        self.key = jax.random.key(seed)
        self.plant = plant
        self.padded_rows()
        if plant is not None and self.representation.full_state and not hasattr(plant, "true_velocities"):
            raise UserError(
                f"The plant of task {task.name!r} does not tell its true state (true_positions, true_velocities), as "
                "the method full-state needs: choose --method vf or pms."
            )

    def padded_rows(self) -> int:
        """The size that training sets are padded to: that of the last trial, from the first one on."""
        trials = self.trials - 1 + max(self.task.explorations, len(self.explored))
        rows = trials * self.representation.rows(self.task.horizon)
        if rows > MOST_POINTS:
            raise UserError(
                f"{self.trials} trials of {self.task.horizon} samples would be {rows} training points, and at most "
                f"{MOST_POINTS} can be learned from: ask for fewer trials."
            )
        return rows

    def run(self) -> Result:
        """Explore, then learn, improve and execute until the last trial; what is done already is not done again."""
        if not self.result.successes:
            for i in range(len(self.explored), self.task.explorations):
                self.explore(i)
        for trial in range(len(self.result.successes) + 1, self.trials + 1):
            self.execute_policy(trial, *self.propose(trial))
        return self.result

    @property
    def explored(self) -> list[Trial]:
        """The trials without a policy."""
        rows = zip(self.result.trials, self.result.rows, strict=False)
        return [trial for trial, row in rows if row["kind"] == "explore"]

    def propose(self, trial: int) -> tuple[LearnedPolicy, Rollout]:
        """The policy to be tried next, learned from all trials so far, and what is predicted of it."""
        s = self.settings
        self.data()  # is there anything to learn from?
        policy = policies.make(s.policy, s.basis_functions, self.representation, self.task, self.explored)
        limits = tuple(gentleness(s.gentle, trial) * limit for limit in self.task.limits.tolist())
        policy = replace(policy, limits=limits)  # pyright: ignore[reportArgumentType]
        before = None if self.result.policy is None else self.result.policy.params
        model = self.learn_model(trial)
        learned = self.update_policy(trial, policy, model, before)
        return learned, self.predict(trial, learned, model)

    # -- the phases ----------------------------------------------------------------------------------------------

    def explore(self, i: int) -> None:
        """Apply exploring inputs; the same seed gives the same ones to every method."""
        self.watch.phase(0, "exploring")
        share, controller = self.settings.gentle, self.task.exploring(self.seed, i)
        trial = self.on_plant(0, lambda q: share * np.asarray(controller(q)))
        self.journal.record(trial, {"kind": "explore"})

    def learn_model(self, trial: int) -> Model:
        """Model learning: one GP per joint on all data so far."""
        self.watch.phase(trial, "learning the model")

        def fitted() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
            settings = self.settings
            known = self.task.sensor.spread() if isinstance(self.task.sensor, Spreading) else ()
            least = self.representation.least_noise(known) if known else None
            model = gp.fit(
                self.data(), self.padded_rows(), settings.inducing or None, self.result.model, self.form, least
            )
            for remark in model.remarks:
                self.watch.note(remark)
            return model.arrays(), model.about()

        self.result.model = model = Model.from_arrays(*self.journal.done_once("models", trial, "model", fitted))
        return model

    def update_policy(self, trial: int, policy: Policy, model: Model, before: Params | None) -> LearnedPolicy:
        """Policy update: gradient steps on the particles' expected cost."""
        self.watch.phase(trial, "improving the policy")
        if self.folder is not None and self.folder.has(f"policies/{trial:03d}.safetensors"):
            learned = self.folder.policy(trial)
            Checkpoints(self.folder, trial, self.watch).remove()
            self.watch.notes += self.folder.arrays("optimisations", trial)[1]["notes"]
        else:
            learned = self.improve_policy(trial, policy, model, before)
        self.result.policy = learned
        return learned

    def improve_policy(self, trial: int, policy: Policy, model: Model, before: Params | None) -> LearnedPolicy:
        """Optimise from the last checkpoint on, and keep the policy."""
        simulator, settings = self.simulator(policy), self.settings_for(model)
        if settings != self.settings:
            self.watch.note(
                "The signal is too far above the noise for float32: particles move in float64, which is slower."
            )
        posterior = model.posterior.cast(settings.precision)
        key = self.key_for(trial, 0)
        keeper = Checkpoints(self.folder, trial, self.watch)
        with self.journal.timed(trial, "policy"):
            begin = start(simulator, before, settings, key)
            now = keeper.standing(begin, settings.shards)
            speeds = policies.speeds(policy, begin.progress.params, self.task, self.result.trials)
            found = improve(simulator, posterior, before, settings, key, self.watch, now, keeper, speeds)
        learned = LearnedPolicy(self.representation, policy, found.params, self.task.reference, self.slew)
        if self.folder is not None:
            self.folder.add_arrays("optimisations", trial, {"cost": found.costs}, notes=keeper.notes)
            self.folder.add_policy(trial, learned)
            keeper.remove()
        return learned

    def predict(self, trial: int, learned: LearnedPolicy, model: Model) -> Rollout:
        """The particles of the trial to come."""
        self.watch.phase(trial, "predicting")
        posterior = model.posterior.cast(self.settings_for(model).precision)
        # What the model gets wrong at one sample it gets wrong at the next one too: errors drawn anew at every step
        # average out and make a band that is too narrow.
        simulator = self.simulator(learned.policy, self.settings.persistence)

        def simulated() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
            key, particles = self.key_for(trial, 1), self.settings.particles
            rollout = _simulate(simulator, learned.params, posterior, key, particles)
            return {name: np.asarray(array) for name, array in rollout._asdict().items()}, {}

        return Rollout(**self.journal.done_once("predictions", trial, "prediction", simulated)[0])  # pyright: ignore

    def execute_policy(self, trial: int, learned: LearnedPolicy, predicted: Rollout) -> None:
        """Policy execution: run it on the plant, and compare with what was predicted."""
        self.watch.phase(trial, "running on the plant")
        learned.reset()
        self.record_policy(trial, self.on_plant(trial, learned), predicted)

    def record_policy(self, trial: int, executed: Trial, predicted: Rollout) -> None:
        """Keep the execution of a policy, with what was predicted of it."""
        model = self.result.model
        assert model is not None
        against = (model, self.representation, self.data(), self.padded_rows(), self.watch.note)
        self.journal.record(executed, {"kind": "policy", "trial": trial, **compare(executed, predicted, *against)})

    def hear(self, trial: Trial) -> None:
        """Take in a trial that happened elsewhere: of the policy that was asked for, or else an exploration."""
        assert self.folder is not None
        self.folder.add_trial(len(self.result.trials), self.journal.looked_at(trial), self.task.columns)
        asked = len(self.result.successes) + 1
        if not self.folder.has(f"predictions/{asked:03d}.safetensors"):
            self.journal.record(trial, {"kind": "explore"})
            return
        self.result.model = Model.from_arrays(*self.folder.arrays("models", asked))
        self.result.policy = self.folder.policy(asked)
        predicted = Rollout(**self.folder.arrays("predictions", asked)[0])  # pyright: ignore
        said = difference(self.result.policy, trial, self.task.limits)
        if said:
            self.watch.note(f"Trial {asked}: {said}")
        self.record_policy(asked, trial, predicted)

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

    def settings_for(self, model: Model) -> Settings:
        """The settings, in the precision that the model needs."""
        return replace(self.settings, precision=model.precision(self.settings.precision))  # pyright: ignore

    def simulator(self, policy: Policy, persistence: float = 0.0) -> Simulator:
        """The particle simulation of this task under `policy`."""
        task = self.task
        reference = None if task.reference is None else tuple(map(tuple, task.reference.tolist()))
        price = self.settings.input_penalty / len(task.inputs)
        return Simulator(
            self.representation,
            policy,
            task.sensor,
            task.start,
            task.cost,
            task.horizon,
            persistence,
            reference,
            self.slew,
            tuple(price / limit**2 for limit in task.limits.tolist()) if price else None,
            float(self.settings.jitter / task.sampling_time),
            float(self.settings.credit),
        )

    def key_for(self, trial: int, purpose: int) -> jax.Array:
        """A random key of its own for everything a trial draws."""
        return jax.random.fold_in(jax.random.fold_in(self.key, trial), purpose)

    def on_plant(self, trial: int, controller: Controller) -> Trial:
        """Run a trial on the plant and keep it at once; one that fails is kept as a partial file and ends the run."""
        task, index = self.task, len(self.result.trials)
        assert self.plant is not None
        seed = int(np.random.SeedSequence([self.seed, 1_000_000 + index]).generate_state(1)[0])
        punctuality = task.timekeeper()
        how: dict[str, Any] = {
            "full_state": self.representation.full_state,
            "slew": self.slew,
            "punctuality": punctuality,
        }
        if self.folder is None:
            self.watch.ready(trial)
            return self.journal.looked_at(execute(task, self.plant, controller, seed, **how))
        d_q = len(task.positions)
        if self.folder.logged_trial(index, task.columns, d_q, task.sampling_time, partial(to_its_end, task)):
            return self.folder.trial(index, d_q)
        self.watch.ready(trial)
        log = self.folder.log_trial(index, task.columns, task.sampling_time, task.horizon)
        with self.journal.timed(trial, "plant"):
            try:
                executed = execute(task, self.plant, controller, seed, log, **how)
            except (PlantError, Interrupted) as error:
                if error.partial is not None and self.is_finished(error.partial):
                    self.folder.keep_trial(index, to_its_end(task, error.partial), task.columns, log)
                raise
            finally:
                log.close()
                if punctuality is not None:
                    self.folder.add_punctuality(index, punctuality)
            self.folder.keep_trial(index, executed, task.columns, log)
        if punctuality is not None:
            self.folder.add_timing({"trial": trial, "phase": "samples", **punctuality.summary()})
        return self.journal.looked_at(executed)

    def is_finished(self, trial: Trial) -> bool:
        """Whether an execution that failed did so only when it was over."""
        over = trial.steps and (self.task.over(trial.q[-1]) or getattr(self.plant, "over", False))
        return trial.steps == self.task.horizon or bool(over)


@partial(jax.jit, static_argnames=("simulator", "particles"))
def _simulate(simulator: Simulator, params: Params, posterior: Any, key: jax.Array, particles: int) -> Rollout:
    return simulator.rollout(jax.tree.map(jnp.asarray, params), posterior, key, particles)
