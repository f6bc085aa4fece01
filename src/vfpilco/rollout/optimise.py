"""The policy optimisation of one trial: gradient steps in chunks, until the schedule ends or the cost converges.

After every chunk the policy is evaluated on particles that no gradient has seen. The best one is kept; if the cost has
risen far above it, the optimisation returns to it, with gradients that look less far ahead or with smaller steps. If
the best one is not good enough in the end, another optimisation begins with a new policy, and the better one of both
is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common import interrupts
from vfpilco.common.errors import UserError
from vfpilco.data.watcher import Watcher
from vfpilco.model.posterior import Posterior
from vfpilco.policy.base import Params
from vfpilco.rollout.choices import horizon_words, start_words
from vfpilco.rollout.constraint import FIRST, GROWTH, MOST
from vfpilco.rollout.convergence import WINDOW, converged, stalled
from vfpilco.rollout.gradient import AdamState, Objective, Sampling, begin, gradient_steps
from vfpilco.rollout.optimised import Optimised
from vfpilco.rollout.optimiser_state import PATIENCE, Best, OptimiserState, Rival, mean
from vfpilco.rollout.particles import Rollout, Simulator, simulate
from vfpilco.rollout.race import DECAYS, SHARE, Runner, Start, others, race, shorter
from vfpilco.rollout.schedule import Phase, chunk_size, phases, steps_left
from vfpilco.rollout.settings import OptimiserSettings

RETRIES = 10
"""How often a chunk with a cost that is not finite is drawn again before the policy itself is."""
MOST_HALVINGS = 3
"""How often the steps are halved after a collapse; then the optimisation ends with the best policy."""
FEWEST = 20
"""Fewer gradient steps than this show nothing: neither in the round of a race, nor whether a phase gains anything."""
EVALUATION = 1_000_001
"""What the random key of evaluations is derived with."""
FRESH = Start("a new policy")


def race_steps(first: Phase) -> int:
    """The gradient steps of every runner in a race, by the first phase."""
    return int(SHARE * first.steps)


def can_race(settings: OptimiserSettings, succeeded: bool = False) -> bool:
    """Whether there are enough steps for a race, and for another optimisation with a new policy."""
    return race_steps(phases(settings, succeeded)[0]) >= FEWEST


@dataclass(frozen=True)
class Optimisation:
    """The policy optimisation of one trial: what is optimised, from where, and how."""

    simulator: Simulator
    posterior: Posterior
    """The learned dynamics, in the precision of the particles."""
    settings: OptimiserSettings
    key: Array
    """Fixes all randomness."""
    starts: tuple[Start, ...] = (FRESH,)
    """The policies to start from: the best known one, or a new one if there is none."""
    to_beat: float = np.inf
    """The cost that a policy should stay below: if it does not, another optimisation begins with a new one."""
    multipliers: Callable[[Params], Params] | None = None
    """Gives the learning-rate multiplier of every parameter; 1 if there is none."""
    succeeded: bool = False
    """Whether the policy to start from has succeeded: then the first phase is left out."""
    weight: float = FIRST
    """The weight of the safe ranges at first."""
    attempt: int = 0
    """Which of several optimisations for the same trial this is, from 0."""
    costs: Float[np.ndarray, "steps"] | None = None
    """The cost at every gradient step of those before."""

    def start(self, redraw: int = 0, origin: int = 0, decay: float | None = None) -> OptimiserState:
        """The beginning, from one of the policies to start from, or from a new one if that one failed."""
        settings, given = self.settings, self.starts[origin].params
        k_init, k_run = jax.random.split(jax.random.fold_in(self.key, redraw))
        params = self.simulator.policy.init(k_init) if given is None or redraw else given
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf, settings.precision), params)
        adam = begin(params, k_run, settings.shards, settings.clip)
        known = given is not None and not redraw  # a policy that has been optimised before may be hard to improve
        unknown = np.full(settings.particles, np.inf, settings.precision)
        best = Best(jax.tree.map(np.asarray, params), self.evaluate(params) if known else unknown)
        decay = decay or settings.gradient_decay or DECAYS[0]
        costs = np.empty(0, settings.precision) if self.costs is None else self.costs
        return OptimiserState(
            attempt=self.attempt,
            redraw=redraw,
            phase=0,
            begun=len(costs),
            halvings=0,
            decay=decay,
            origin=origin,
            weight=self.weight,
            best=best,
            rival=Rival(best._replace(costs=unknown), decay, origin, 0),
            adam=adam,
            evaluations=best.costs[None],
            costs=costs,
        )

    def run(
        self,
        watch: Watcher,
        now: OptimiserState | None = None,
        checkpoint: Callable[[OptimiserState], None] = lambda state: None,
    ) -> Optimised:
        """Optimise to the end.

        Args:
            watch: Is informed about progress.
            now: Where an earlier call was, as it was passed to `checkpoint`; the beginning if not given.
            checkpoint: Called after every chunk of steps.

        Raises:
            UserError: If the expected cost is never finite.
        """
        now = now or self._raced([self.start(origin=i) for i in range(len(self.starts))], watch)
        while True:
            now = self._to_the_end(now, watch, checkpoint)
            if now.rival.steps or not self._disappoints(now):
                return self.result(now, watch)
            now = self._afresh(now, watch)

    def _to_the_end(
        self, now: OptimiserState, watch: Watcher, checkpoint: Callable[[OptimiserState], None]
    ) -> OptimiserState:
        """The state when all phases have ended."""
        plan, settings = phases(self.settings, self.succeeded), self.settings
        objective = self._objective(now)
        chunk = chunk_size(self.simulator, settings)
        while now.phase < len(plan) and now.halvings <= MOST_HALVINGS:
            interrupts.check()
            phase, made = plan[now.phase], len(now.costs) - now.begun
            made_before = now.begun - now.rival.steps - self._spent
            left = steps_left(settings, phase, made, made_before)
            if left <= 0 or self._has_converged(now, phase, chunk):
                now = now._replace(phase=now.phase + 1, begun=len(now.costs), evaluations=now.best.costs[None])
                continue
            steps = min(chunk, left)
            tried = self._continued(now, objective.weighted(now.weight, settings.shards), phase, steps, watch)
            if tried is None:
                now = self._redrawn(now, watch)
                continue
            now = self._weighted(tried)
            past = sum(past.steps for past in plan[: now.phase])
            past = past if settings.stop_rule == "gain" else made_before
            watch.step(past + made + steps, settings.steps, float(now.costs[-10:].mean()))
            checkpoint(now)
        return now

    def _disappoints(self, now: OptimiserState) -> bool:
        """Whether the best policy is not good enough, and a new one could be better."""
        known = self.starts[now.origin].params is not None and not now.redraw
        return known and self._can_race and not now.best.cost < self.to_beat

    def _afresh(self, now: OptimiserState, watch: Watcher) -> OptimiserState:
        """The beginning of another optimisation, with a new policy; what was found so far is kept as its rival."""
        rival = Rival(now.best, now.decay, now.origin, len(now.costs) - self._spent)
        return self._raced([self._new(now._replace(rival=rival))], watch)

    def _new(self, now: OptimiserState) -> OptimiserState:
        """The beginning with a newly drawn policy, beside the same rival."""
        origin = next((i for i, start in enumerate(self.starts) if start.params is None), 0)
        costs = now.costs[: self._spent + now.rival.steps]
        begun = self.start(now.redraw + 1, origin)
        return begun._replace(rival=now.rival, weight=now.weight, costs=costs, begun=len(costs))

    @property
    def _spent(self) -> int:
        """Gradient steps of the optimisations for the same trial before this one."""
        return 0 if self.costs is None else len(self.costs)

    def _has_converged(self, now: OptimiserState, phase: Phase, chunk: int) -> bool:
        """Whether the present phase ends early."""
        if self.settings.stop_rule == "drift":
            return stalled(now.costs[now.begun :], now.phase)
        window = max(int(WINDOW * phase.steps), FEWEST)
        return converged(now.evaluations, -(-window // chunk), self.settings.tolerance)

    def result(self, now: OptimiserState, watch: Watcher | None = None) -> Optimised:
        """The best policy so far, of two optimisations if there were two; `watch` is given at the end."""
        best, steps = now.best, len(now.costs) - self._spent - now.rival.steps
        start = self.starts[now.origin]
        found = Optimised(best.params, best.cost, now.costs, start, now.decay, now.weight, best.step, steps)
        if now.rival.steps:
            found = self._better(found, now, watch)
        if watch is None or found.params is not best.params:
            return found
        return found._replace(last_cost=mean(self.evaluate(now.adam.params, now.weight)))

    def _better(self, found: Optimised, now: OptimiserState, watch: Watcher | None) -> Optimised:
        """The better one of two optimisations' policies: the present one has `found` this one."""
        rival, before = now.rival, mean(self.evaluate(now.rival.best.params, now.weight))
        better = now.best.cost < before
        if watch is not None:
            watch.note(
                f"The policy was not expected to be better than those before (cost {before:.3g}), so another one was "
                f"optimised from scratch (cost {now.best.cost:.3g}): {'it is used' if better else 'it is not used'}."
            )
        if better:
            return found
        return found._replace(
            params=rival.best.params,
            expected_cost=before,
            start=self.starts[rival.origin],
            decay=rival.decay,
            step=rival.best.step,
            steps=rival.steps,
        )

    def _objective(self, now: OptimiserState) -> Objective:
        factors = None if self.multipliers is None else self.multipliers(now.adam.params)
        return Objective.of(self.simulator, self.posterior, now.adam.params, factors, self.settings.shards, now.weight)

    def _continued(
        self, now: OptimiserState, objective: Objective, phase: Phase, steps: int, watch: Watcher
    ) -> OptimiserState | None:
        """The state after so many steps of a phase and an evaluation; None if costs are not finite."""
        chunk, end = chunk_size(self.simulator, self.settings), len(now.costs) + steps
        while len(now.costs) < end:
            interrupts.check()
            due = min(chunk, end - len(now.costs))
            planned = Phase(due, phase.rate * 0.5**now.halvings, phase.dropout, now.decay)
            tried = self._finite_chunk(now.adam, objective, planned, watch)
            if tried is None:
                return None
            now = now._replace(adam=tried[0], costs=np.concatenate([now.costs, tried[1]]))
        return self._evaluated(now, watch)

    @property
    def _can_race(self) -> bool:
        return can_race(self.settings, self.succeeded)

    def _raced(self, beginnings: list[OptimiserState], watch: Watcher) -> OptimiserState:
        """The winner of a race between gradient decays, from the best known policy or from a new one.

        All decays take part, beside a rival only those that are unlike its own. With too few steps for a race it is
        the first of them, whose gradients look furthest ahead.
        """
        given, rival = self.settings.gradient_decay, beginnings[0].rival
        decays = (given,) if given else others(rival.decay) if rival.steps else DECAYS
        first = phases(self.settings, self.succeeded)[0]
        known = sorted((state for state in beginnings if np.isfinite(state.best.cost)), key=lambda s: s.best.cost)
        state = (known or beginnings)[0]
        runners = [Runner(self.starts[state.origin], decay, state._replace(decay=decay)) for decay in decays]
        ran: list[Runner] = []

        def run(runner: Runner) -> Runner:
            state = self._continued(runner.state, self._objective(runner.state), first, race_steps(first), Watcher())
            if state is not None:
                watch.step(0, self.settings.steps, float(state.costs[-10:].mean()))
                runner = runner._replace(state=state, cost=mean(self.evaluate(state.adam.params, state.weight)))
            ran.append(runner)
            return runner

        winner = race(runners, run) if self._can_race else runners[0]
        if not given:
            where = start_words(winner.start.name, {self.starts[s.origin].name: s.best.cost for s in known})
            watch.note(f"{horizon_words(winner, ran, self.settings.steps, again=rival.steps > 0)} {where}")
        return winner.state._replace(evaluations=winner.state.best.costs[None])

    @property
    def _sampling(self) -> Sampling:
        return Sampling(self.settings.particles, self.settings.shards, float(self.settings.clip))

    def evaluate(self, params: Params, weight: float | None = None) -> Float[np.ndarray, "M"]:
        """The costs of a policy on particles that no gradient has seen, the same for all policies."""
        weight = self.weight if weight is None else weight
        return np.asarray(self.simulator.costs(self._unseen(params), weight))

    def _unseen(self, params: Params) -> Rollout:
        """The particles of evaluations."""
        key = jax.random.fold_in(self.key, EVALUATION)
        return simulate(self.simulator, params, self.posterior, key, self.settings.particles)

    def _weighted(self, now: OptimiserState) -> OptimiserState:
        """The weight of the safe ranges grows while the best policy leaves them more often than the bound allows."""
        safe, params = self.simulator.safe, now.best.params
        if safe is None or safe.leaving(self._unseen(params).q) <= self.settings.risk_bound:
            return now
        weight = min(GROWTH * now.weight, MOST)
        best = now.best._replace(costs=self.evaluate(params, weight))
        return now._replace(weight=weight, best=best, evaluations=best.costs[None])

    def _evaluated(self, now: OptimiserState, watch: Watcher) -> OptimiserState:
        """Evaluate the policy of a chunk, keep it if it is the best, and return to the best one after a collapse."""
        params = jax.tree.map(np.asarray, now.adam.params)
        costs = self.evaluate(params, now.weight)
        best = now.best.after(params, costs, len(now.costs) - self._spent - now.rival.steps)
        if best.worse < PATIENCE:
            return now._replace(best=best, evaluations=np.concatenate([now.evaluations, best.costs[None]]))
        settings = self.settings
        nearer = now.decay if settings.gradient_decay else shorter(now.decay)
        calmer = "with steps half as large" if nearer == now.decay else "with gradients that look less far ahead"
        watch.note(
            f"The expected cost rose from {best.cost:.3g} to {mean(costs):.3g} during the optimisation: it continues "
            f"from the best policy, {calmer}."
        )
        again = jax.tree.map(lambda leaf: jnp.asarray(leaf, settings.precision), best.params)
        adam = begin(again, now.adam.key, settings.shards, settings.clip)
        best = best._replace(worse=0)
        halvings = now.halvings + (nearer == now.decay)
        return now._replace(best=best, evaluations=best.costs[None], adam=adam, decay=nearer, halvings=halvings)

    def _redrawn(self, now: OptimiserState, watch: Watcher) -> OptimiserState:
        watch.note("The expected cost was repeatedly not finite: a new initial policy is drawn.")
        if now.redraw + 1 >= RETRIES:
            raise UserError(
                "The expected cost was never finite, whatever the policy: check that the cost function is finite and "
                "smooth everywhere, or lower --learning-rate."
            )
        return self._new(now)

    def _finite_chunk(
        self, adam: AdamState, objective: Objective, phase: Phase, watch: Watcher
    ) -> tuple[AdamState, np.ndarray] | None:
        """The steps of `phase`, drawn again where a cost or parameter is not finite; None if that never helps."""
        for retry in range(RETRIES + 1):
            start = adam if retry == 0 else adam._replace(key=jax.random.fold_in(adam.key, retry))
            after, cost = gradient_steps(self.simulator, start, objective, phase, self._sampling)
            if np.all(np.isfinite(cost)) and all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(after.params)):
                return after, cost
            if retry == 0:
                watch.note("The expected cost was not finite: the same steps are repeated with other particles.")
        return None
