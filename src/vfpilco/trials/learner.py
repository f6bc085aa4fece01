"""One run: the three phases of the method, repeated, with every outcome recorded as it happens (Sec. II-A)."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import numpy as np

from vfpilco.common import interrupts
from vfpilco.data.failures import Interrupted, PlantError
from vfpilco.data.results import Forecast
from vfpilco.data.risk import Risk
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import NoteKeeper, Watcher
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.fit import fit, stretches
from vfpilco.model.model import Model
from vfpilco.policy.base import Policy
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.preparation import policy_inputs, reference_errors
from vfpilco.rollout.band import band_of
from vfpilco.rollout.optimise import FRESH, Optimisation
from vfpilco.rollout.optimised import Optimised
from vfpilco.rollout.particles import Rollout, simulate
from vfpilco.rollout.race import Start
from vfpilco.storage.checkpoints import Checkpoints
from vfpilco.storage.store import MODEL, PREDICTION, Store
from vfpilco.tasks.exploration import Feedback
from vfpilco.tasks.plant import EndsEarly, Plant
from vfpilco.trials.abort import Monitor
from vfpilco.trials.choosing import (
    JITTERS,
    KERNELS,
    MEMORIES,
    Candidate,
    Choices,
    Chosen,
    choose,
    is_due,
)
from vfpilco.trials.comparison import compare, forecast
from vfpilco.trials.execute import Conditions, Controller, execute, trimmed
from vfpilco.trials.exploring import cautious_share, enough, explorer
from vfpilco.trials.journal import Journal
from vfpilco.trials.knowledge import Knowledge
from vfpilco.trials.max_risk import SHARES, allowed, next_attempt, reason, refusal
from vfpilco.trials.plan import Plan
from vfpilco.trials.punctuality import Punctuality, timekeeper
from vfpilco.trials.replay import difference
from vfpilco.trials.result import RunResult
from vfpilco.trials.review import review

PREDICTING = 200
"""The most particles that predict a trial; else they are twice as many as in the optimisation. Each carries a function
of its own, which takes time."""


class Learner:
    """One run: the three phases, repeated, with every outcome recorded as it happens."""

    def __init__(self, plan: Plan, plant: Plant | None, store: Store, watch: Watcher) -> None:
        plan.check(plant)
        self.plan, self.task, self.settings, self.plant, self.store = plan, plan.task, plan.settings, plant, store
        self.journal = Journal(RunResult(plan, store=store), store, NoteKeeper(watch))
        self.result, self.watch = self.journal.result, self.journal.watch
        self.slew = self.settings.limits.slew_limit(self.task.machine.limits)
        self.key = jax.random.key(plan.seed)
        open_loop = plant is not None and not isinstance(plan.task.exploration, Feedback)  # elsewhere: unknown
        self.knowledge = Knowledge(self.result, open_loop=open_loop)

    def run(self) -> RunResult:
        """Explore, then learn, improve and execute until the last trial; what is done already is not repeated."""
        if not self.result.successes:
            while not enough(self.task, self.result.explored):
                self.explore(len(self.result.explored))
        while not self.plan.ended(self.result.successes):
            trial = len(self.result.successes) + 1
            self.execute_policy(trial, *self.propose(trial))
        return self.result

    def propose(self, trial: int) -> tuple[LearnedPolicy, Rollout]:
        """The policy to be tried next, learned from all trials so far, and what is predicted of it."""
        model = self.learn_model(trial)
        learned = self.update_policy(trial, model)
        return learned, self.predict(trial, learned, model)

    # -- the phases ----------------------------------------------------------------------------------------------

    def explore(self, i: int) -> None:
        """Apply exploring inputs; the same seed gives the same ones to every method."""
        self.watch.phase(0, "exploring")
        share = self.settings.limits.gentle * cautious_share(self.task, self.result.explored)
        controller = explorer(self.task, self.plan.seed, i, self.settings.limits.first_share)
        self.journal.record(self.on_plant(0, lambda q: share * np.asarray(controller(q))), "explore")

    def learn_model(self, trial: int) -> Model:
        """Model learning: one GP per joint on all data so far, with the kernel and the noise that suit them best."""
        self.watch.phase(trial, "learning the model")

        def fitted() -> Model:
            before, found = self.result.model, self.choose_model()
            known = self.knowledge.remarks if before is None else ()
            same = before is not None and (before.kernel, before.jitter) == (found.model.kernel, found.model.jitter)
            for remark in (*known, *(() if same else found.reasons), *found.model.remarks):
                self.watch.note(remark)
            return found.model

        self.result.model = model = self.journal.once(MODEL, trial, "model", fitted)
        return model

    def choose_model(self) -> Chosen:
        """The model with the highest evidence; what is given by hand is not chosen."""
        previous, model = self.result.model, self.settings.model
        kernel = model.kernel or (KERNELS[0] if previous is None else previous.kernel)
        first = Candidate(self.dynamics, kernel, 0.0 if previous is None else previous.jitter)
        capacity = self.plan.capacity(self.result.explored)

        def fit_one(candidate: Candidate, most: int | None = None) -> Model:
            interrupts.check()
            data = candidate.dynamics.training_sets(self.result.trials, capacity, 0 if most is None else since)
            known = previous is not None and previous.kernel == candidate.kernel
            fitted = fit(
                data if most is None else data.at(stretches(len(data.x), most)),
                kernel=candidate.kernel,
                kinds=tuple(candidate.dynamics.state.input_kinds()),
                inducing=model.inducing if most is None else 0,
                previous=previous if known else None,
                least_noise=candidate.dynamics.least_noise(),
            )
            return dataclasses.replace(fitted, jitter=candidate.jitter, m_q=candidate.m_q)

        due = is_due(self.result.lengths)
        choices = Choices(
            KERNELS if due and model.kernel is None else (),
            JITTERS if due and self.knowledge.can_jitter else (),
            MEMORIES if previous is None and self.settings.state is None else (),
        )
        longest = max(trial.steps for trial in self.result.trials)
        since = min(max(choices.memories, default=0), longest - 1)  # all memories explain the same samples
        return choose(first, choices, self.task.machine, fit_one)

    def update_policy(self, trial: int, model: Model) -> LearnedPolicy:
        """Policy update: gradient steps on the particles' expected cost."""
        self.watch.phase(trial, "optimising the policy")
        found = self.store.load_policy(trial)
        if found is None:
            learned = self.improve_policy(trial, model)
        else:
            learned, notes = found
            self.store.remove_checkpoint()
            self.watch.notes += notes
        self.result.policy = learned
        return learned

    def improve_policy(self, trial: int, model: Model) -> LearnedPolicy:
        """Optimise from the last checkpoint on, again if the risk is too high, and keep the policy."""
        checkpoints = Checkpoints(self.store, trial, self.watch)
        optimisation = first = self.optimisation(trial, model)
        with self.journal.timed(trial, "policy"):
            now = checkpoints.restore(first.start(), first.settings.shards)
            if now is not None and now.attempt:
                found = first.result(now)
                optimisation = next_attempt(first, now.attempt, found, self.policy_of(trial, SHARES[now.attempt]))
            found = optimisation.run(self.watch, now, checkpoints)
            for attempt in range(optimisation.attempt + 1, len(SHARES)):
                risk = self.excessive_risk(trial, self.learned(optimisation, found), model)
                if risk is None:
                    break
                self.watch.note(reason(risk, self.settings.limits.max_risk, attempt))
                optimisation = next_attempt(first, attempt, found, self.policy_of(trial, SHARES[attempt]))
                found = optimisation.run(self.watch, None, checkpoints)
        if found.chosen:
            self.watch.note(found.chosen)
        learned = self.learned(optimisation, found)
        self.store.save_policy(trial, learned, found.costs, checkpoints.notes)
        self.store.remove_checkpoint()
        return learned

    def optimisation(self, trial: int, model: Model) -> Optimisation:
        """The first optimisation of the policy for a trial."""
        policy, settings = self.policy_of(trial), self.settings.optimiser.for_trial(trial)
        precision = model.precision(settings.precision)
        if precision != settings.precision:
            self.watch.note(
                "The signal is too far above the noise for float32: particles move in float64, which is slower."
            )
        limits, errors = self.task.machine.limits, reference_errors(self.task, self.result.trials[-1])
        return Optimisation(
            self.plan.simulator(self.dynamics, policy, typical_cost=self.result.typical_cost),
            model.posterior.cast(precision),
            dataclasses.replace(settings, precision=precision, risk_bound=self.plan.risk_bound),  # pyright: ignore
            self.key_for(trial, 0),
            self.starts(policy),
            self.result.to_beat,
            lambda params: policy.learning_rates(params, limits, errors),
            succeeded=self.result.successes[-1:] == [True],
        )

    def learned(self, optimisation: Optimisation, found: Optimised) -> LearnedPolicy:
        """A policy as it runs on the machine."""
        policy = optimisation.simulator.policy
        return LearnedPolicy(self.dynamics.state, policy, found.params, self.task.reference, self.slew)

    def excessive_risk(self, trial: int, learned: LearnedPolicy, model: Model) -> Risk | None:
        """The predicted risk of a policy if it is higher than allowed."""
        most = self.settings.limits.max_risk
        if most == 1:
            return None
        risk = forecast(self.task, self.simulated(trial, learned, model)).risk
        return risk if risk.leaving > most else None

    def predict(self, trial: int, learned: LearnedPolicy, model: Model) -> Rollout:
        """The particles of the trial to come."""
        self.watch.phase(trial, "predicting")
        return self.journal.once(PREDICTION, trial, "prediction", lambda: self.simulated(trial, learned, model))

    def simulated(self, trial: int, learned: LearnedPolicy, model: Model) -> Rollout:
        """Particles that predict a trial, always the same ones."""
        simulator = self.plan.simulator(self.dynamics, learned.policy, predicting=True)
        posterior = model.posterior.cast("float64")  # the values that a particle has drawn are almost dependent
        particles = min(2 * self.settings.optimiser.particles, PREDICTING)
        rollout = simulate(simulator, learned.params, posterior, self.key_for(trial, 1), particles)
        return Rollout(*map(np.asarray, rollout))  # pyright: ignore[reportArgumentType]

    def execute_policy(self, trial: int, learned: LearnedPolicy, predicted: Rollout) -> None:
        """Policy execution: run it on the plant, and compare with what was predicted."""
        self.watch.phase(trial, "running on the plant")
        expected = forecast(self.task, predicted)
        self.watch.predicted(trial, expected)
        self.check_risk(trial, expected)
        learned.reset()
        self.record_policy(trial, self.on_plant(trial, learned, self.monitor(predicted)), predicted)

    def check_risk(self, trial: int, expected: Forecast) -> None:
        """Refuse a policy that is too risky unless a person allows it."""
        most = self.settings.limits.max_risk
        if expected.risk.leaving <= most:
            return
        if not self.watch.accepts(trial, expected):
            raise refusal(trial, expected.risk, most)
        self.watch.note(allowed(expected.risk, most))

    def monitor(self, predicted: Rollout) -> Monitor | None:
        """Stops the trial if its measurements leave the predicted band; None if that is not wanted."""
        probability = self.settings.limits.abort_outside
        if probability == 1:
            return None
        return Monitor(band_of(predicted, self.dynamics.sensor, probability), self.task.machine, probability)

    def record_policy(self, trial: int, executed: Trial, predicted: Rollout) -> None:
        """Record the execution of a policy, with what was predicted of it."""
        model = self.result.model
        assert model is not None
        chosen = self.settings.model.inducing is None
        compared = compare(
            self.task, executed, predicted, model, self.dynamics, self.data(), self.watch.note, chosen=chosen
        )
        why, notes = review(self.result, trial, executed, predicted, compared, self.dynamics)
        for note in notes:
            self.watch.note(note)
        self.journal.record(executed, "policy", trial, dataclasses.replace(compared, explanation=why), predicted)

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
        asked = len(self.result.successes) + 1
        predicted, model = self.store.load(PREDICTION, asked), self.store.load(MODEL, asked)
        found = self.store.load_policy(asked)
        first = not self.result.trials  # whatever the folder holds, nothing was learned before it
        if first or predicted is None or model is None or found is None:
            self.journal.examined(trial, exploring=self.plant is not None)
            self.journal.record(trial, "explore")
            return
        self.journal.examined(trial)
        self.result.model, self.result.policy = model[0], found[0]
        problem = difference(found[0], trial, self.task.machine.limits)
        if problem:
            self.watch.note(f"Trial {asked}: {problem}")
        self.record_policy(asked, trial, predicted[0])

    # -- what they need ------------------------------------------------------------------------------------------

    @property
    def dynamics(self) -> Dynamics:
        """What the GPs learn, and how they see the machine."""
        return self.knowledge.dynamics

    def data(self) -> TrainingSet:
        """The training set of all trials so far."""
        return self.dynamics.training_sets(self.result.trials, self.plan.capacity(self.result.explored))

    def policy_of(self, trial: int, share: float = 1.0) -> Policy:
        """The policy to be learned for a trial, with the units of its inputs and a share of its limits."""
        inputs = policy_inputs(self.dynamics.state, self.task, self.result.explored)
        share *= self.settings.limits.share(trial)
        limits = tuple(share * limit for limit in inputs.limits)
        return self.settings.policy.bind(dataclasses.replace(inputs, limits=limits))

    def starts(self, policy: Policy) -> tuple[Start, ...]:
        """The policies that the next one may start from: the last one, after a success the best one, and a new one.

        Before a success the best one is only where an optimisation was stuck first.
        """
        last, best = self.result.policy, self.result.best
        shapes = {name: np.shape(value) for name, value in policy.init(self.key).items()}
        known = [
            Start(name, learned.params)
            for name, learned in (("the last policy", last), ("the best policy so far", best))
            if learned is not None and {n: v.shape for n, v in learned.params.items()} == shapes
        ]
        if last is best or not any(self.result.successes):
            known = known[:1]
        return (*known, FRESH)

    def key_for(self, trial: int, purpose: int) -> jax.Array:
        """A separate random key for everything that a trial draws."""
        return jax.random.fold_in(jax.random.fold_in(self.key, trial), purpose)

    def on_plant(self, trial: int, controller: Controller, monitor: Monitor | None = None) -> Trial:
        """Run a trial on the plant and store it at once; one that fails is kept as a partial file and ends the run."""
        task, index, plant = self.task, len(self.result.trials), self.plant
        assert plant is not None
        finished = self.store.finished_trial(index, task, partial(trimmed, task))
        if finished is not None:
            return self.journal.examined(finished, exploring=trial == 0)
        seed = int(np.random.SeedSequence([self.plan.seed, 1_000_000 + index]).generate_state(1)[0])
        punctuality = timekeeper(task)
        self.watch.ready(trial)
        log = self.store.open_log(index, task)
        conditions = Conditions(self.plan.dynamics.state.full_state, self.slew, punctuality, monitor, log)
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
        return self.journal.examined(executed, exploring=trial == 0)

    def _save_sample_times(self, index: int, punctuality: Punctuality | None) -> None:
        if punctuality is not None:
            self.store.save_sample_times(index, punctuality.to_csv())

    def _is_finished(self, trial: Trial) -> bool:
        """Whether an execution that failed had already ended."""
        terminated = isinstance(self.plant, EndsEarly) and self.plant.terminated
        ended = trial.steps and (trial.ended or self.task.ended(trial.q[-1]) or terminated)
        return trial.steps == self.task.horizon or bool(ended)
