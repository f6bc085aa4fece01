"""One run: the three phases of the method, repeated, with every outcome recorded as it happens (Sec. II-A)."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import numpy as np

from vfpilco.data.failures import Interrupted, PlantError
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import NoteKeeper, Watcher
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.fit import fit
from vfpilco.model.model import Model
from vfpilco.policy.base import Params, Policy
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.preparation import policy_inputs, reference_errors
from vfpilco.recordings.trials import faults
from vfpilco.rollout.optimise import Optimisation
from vfpilco.rollout.particles import Rollout, simulate
from vfpilco.storage.checkpoints import Checkpoints
from vfpilco.storage.store import MODEL, PREDICTION, Store
from vfpilco.tasks.plant import EndsEarly, Plant
from vfpilco.trials.comparison import compare
from vfpilco.trials.execute import Conditions, Controller, execute, trimmed
from vfpilco.trials.journal import Journal
from vfpilco.trials.plan import Plan
from vfpilco.trials.punctuality import Punctuality, timekeeper
from vfpilco.trials.replay import difference
from vfpilco.trials.result import Result

PREDICTING = 200
"""The most particles that predict a trial: each carries a function of its own, which takes time."""


class Learner:
    """One run: the three phases, repeated, with every outcome recorded as it happens."""

    def __init__(self, plan: Plan, plant: Plant | None, store: Store, watch: Watcher) -> None:
        plan.check(plant)
        self.plan, self.task, self.settings, self.plant, self.store = plan, plan.task, plan.settings, plant, store
        self.journal = Journal(Result(plan), store, NoteKeeper(watch))
        self.result, self.watch = self.journal.result, self.journal.watch
        self.dynamics = plan.dynamics
        self.kinds = tuple(self.dynamics.state.input_kinds())
        self.slew = self.settings.limits.slew_limit(self.task.machine.limits)
        self.key = jax.random.key(plan.seed)

    def run(self) -> Result:
        """Explore, then learn, improve and execute until the last trial; what is done already is not repeated."""
        if not self.result.successes:
            for i in range(len(self.result.explored), self.task.explorations):
                self.explore(i)
        for trial in range(len(self.result.successes) + 1, self.plan.trials + 1):
            self.execute_policy(trial, *self.propose(trial))
        return self.result

    def propose(self, trial: int) -> tuple[LearnedPolicy, Rollout]:
        """The policy to be tried next, learned from all trials so far, and what is predicted of it."""
        data = self.data()
        before = None if self.result.policy is None else self.result.policy.params
        model = self.learn_model(trial, data)
        learned = self.update_policy(trial, model, before)
        return learned, self.predict(trial, learned, model)

    # -- the phases ----------------------------------------------------------------------------------------------

    def explore(self, i: int) -> None:
        """Apply exploring inputs; the same seed gives the same ones to every method."""
        self.watch.phase(0, "exploring")
        share, controller = self.settings.limits.gentle, self.task.explorer(self.plan.seed, i)
        explored = self.on_plant(0, lambda q: share * np.asarray(controller(q)))
        for fault in faults(explored, self.task):
            self.watch.note(f"CHECK THE MEASUREMENTS: {fault}")
        self.journal.record(explored, "explore")

    def learn_model(self, trial: int, data: TrainingSet) -> Model:
        """Model learning: one GP per joint on all data so far."""
        self.watch.phase(trial, "learning the model")

        def fitted() -> Model:
            model = fit(
                data,
                kernel=self.settings.model.kernel,
                kinds=self.kinds,
                inducing=self.settings.model.inducing or None,
                previous=self.result.model,
                least_noise=self.dynamics.least_noise(),
            )
            for remark in model.remarks:
                self.watch.note(remark)
            return model

        self.result.model = model = self.journal.once(MODEL, trial, "model", fitted)
        return model

    def update_policy(self, trial: int, model: Model, before: Params | None) -> LearnedPolicy:
        """Policy update: gradient steps on the particles' expected cost."""
        self.watch.phase(trial, "optimising the policy")
        found = self.store.load_policy(trial)
        if found is None:
            learned = self.improve_policy(trial, model, before)
        else:
            learned, notes = found
            self.store.remove_checkpoint()
            self.watch.notes += notes
        self.result.policy = learned
        return learned

    def improve_policy(self, trial: int, model: Model, before: Params | None) -> LearnedPolicy:
        """Optimise from the last checkpoint on, and keep the policy."""
        policy, settings = self.policy_of(trial), self.settings.optimiser
        checkpoints = Checkpoints(self.store, trial, self.watch)
        precision = model.precision(settings.precision)
        if precision != settings.precision:
            self.watch.note(
                "The signal is too far above the noise for float32: particles move in float64, which is slower."
            )
        limits, errors = self.task.machine.limits, reference_errors(self.task, self.result.trials[-1])
        optimisation = Optimisation(
            self.plan.simulator(self.dynamics, policy),
            model.posterior.cast(precision),
            dataclasses.replace(settings, precision=precision),  # pyright: ignore[reportArgumentType]
            self.key_for(trial, 0),
            before,
            lambda params: policy.learning_rates(params, limits, errors),
        )
        with self.journal.timed(trial, "policy"):
            now = checkpoints.restore(optimisation.start(), settings.shards)
            found = optimisation.run(self.watch, now, checkpoints)
        learned = LearnedPolicy(self.dynamics.state, policy, found.params, self.task.reference, self.slew)
        self.store.save_policy(trial, learned, found.costs, checkpoints.notes)
        self.store.remove_checkpoint()
        return learned

    def predict(self, trial: int, learned: LearnedPolicy, model: Model) -> Rollout:
        """The particles of the trial to come."""
        self.watch.phase(trial, "predicting")
        simulator = self.plan.simulator(self.dynamics, learned.policy, predicting=True)

        def simulated() -> Rollout:
            posterior = model.posterior.cast("float64")  # the values that a particle has drawn are almost dependent
            particles = min(self.settings.optimiser.particles, PREDICTING)
            rollout = simulate(simulator, learned.params, posterior, self.key_for(trial, 1), particles)
            return Rollout(*map(np.asarray, rollout))  # pyright: ignore[reportArgumentType]

        return self.journal.once(PREDICTION, trial, "prediction", simulated)

    def execute_policy(self, trial: int, learned: LearnedPolicy, predicted: Rollout) -> None:
        """Policy execution: run it on the plant, and compare with what was predicted."""
        self.watch.phase(trial, "running on the plant")
        learned.reset()
        self.record_policy(trial, self.on_plant(trial, learned), predicted)

    def record_policy(self, trial: int, executed: Trial, predicted: Rollout) -> None:
        """Record the execution of a policy, with what was predicted of it."""
        model = self.result.model
        assert model is not None
        compared = compare(self.task, executed, predicted, model, self.dynamics, self.data(), self.watch.note)
        self.journal.record(executed, "policy", trial, compared, predicted)

    def ingest(self, trial: Trial) -> None:
        """Add a trial that was executed elsewhere."""
        self.store.save_trial(len(self.result.trials), trial, self.task)
        self.adopt(trial)

    def adopt_finished(self) -> None:
        """Record an execution that was kept, but whose line in the results is missing because of an interruption."""
        finished = self.store.finished_trial(len(self.result.trials), self.task, partial(trimmed, self.task))
        if finished is not None:
            self.adopt(finished)

    def adopt(self, trial: Trial) -> None:
        """Record an execution that is in the store: by the policy that was asked for, or else an exploration."""
        self.journal.examined(trial)
        asked = len(self.result.successes) + 1
        predicted, model = self.store.load(PREDICTION, asked), self.store.load(MODEL, asked)
        found = self.store.load_policy(asked)
        if predicted is None or model is None or found is None:
            self.journal.record(trial, "explore")
            return
        self.result.model, self.result.policy = model[0], found[0]
        problem = difference(found[0], trial, self.task.machine.limits)
        if problem:
            self.watch.note(f"Trial {asked}: {problem}")
        self.record_policy(asked, trial, predicted[0])

    # -- what they need ------------------------------------------------------------------------------------------

    def data(self) -> TrainingSet:
        """The training set of all trials so far."""
        return self.dynamics.training_sets(self.result.trials, self.plan.capacity(self.result.explored))

    def policy_of(self, trial: int) -> Policy:
        """The policy to be learned for a trial, with the units of its inputs and the limits of its outputs."""
        inputs = policy_inputs(self.dynamics.state, self.task, self.result.explored)
        share = self.settings.limits.share(trial)
        limits = tuple(share * limit for limit in inputs.limits)
        return self.settings.policy.bind(dataclasses.replace(inputs, limits=limits))

    def key_for(self, trial: int, purpose: int) -> jax.Array:
        """A separate random key for everything that a trial draws."""
        return jax.random.fold_in(jax.random.fold_in(self.key, trial), purpose)

    def on_plant(self, trial: int, controller: Controller) -> Trial:
        """Run a trial on the plant and store it at once; one that fails is kept as a partial file and ends the run."""
        task, index, plant = self.task, len(self.result.trials), self.plant
        assert plant is not None
        finished = self.store.finished_trial(index, task, partial(trimmed, task))
        if finished is not None:
            return self.journal.examined(finished)
        seed = int(np.random.SeedSequence([self.plan.seed, 1_000_000 + index]).generate_state(1)[0])
        punctuality = timekeeper(task)
        self.watch.ready(trial)
        log = self.store.open_log(index, task)
        conditions = Conditions(self.dynamics.state.full_state, self.slew, punctuality, log)
        with self.journal.timed(trial, "plant"):
            try:
                executed = execute(task, plant, controller, seed, conditions)
            except (PlantError, Interrupted) as error:
                if error.partial is not None and self._is_finished(error.partial):
                    self.store.save_trial(index, trimmed(task, error.partial), task, log)
                raise
            finally:
                log.close()
                self._save_sample_times(index, punctuality)
            self.store.save_trial(index, executed, task, log)
        if punctuality is not None:
            self.store.add_timing(punctuality.timing(trial))
        return self.journal.examined(executed)

    def _save_sample_times(self, index: int, punctuality: Punctuality | None) -> None:
        if punctuality is not None:
            self.store.save_sample_times(index, punctuality.to_csv())

    def _is_finished(self, trial: Trial) -> bool:
        """Whether an execution that failed had already ended."""
        terminated = isinstance(self.plant, EndsEarly) and self.plant.terminated
        ended = trial.steps and (self.task.ended(trial.q[-1]) or terminated)
        return trial.steps == self.task.horizon or bool(ended)
