"""The policy optimisation of one trial: gradient steps in chunks, until the schedule ends or the cost converges.

After every chunk the policy is evaluated on particles that no gradient has seen. The best one is kept; if the cost has
risen far above it, the optimisation returns to it with smaller steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common import interrupts
from vfpilco.common.errors import UserError
from vfpilco.data.watcher import Watcher
from vfpilco.model.posterior import Posterior
from vfpilco.policy.base import Params
from vfpilco.rollout.constraint import FIRST, GROWTH, MOST
from vfpilco.rollout.convergence import converged, stalled
from vfpilco.rollout.gradient import AdamState, Objective, Sampling, begin, gradient_steps, replicate
from vfpilco.rollout.particles import Rollout, Simulator, simulate
from vfpilco.rollout.race import DECAYS, SHARE, Runner, Start, race
from vfpilco.rollout.schedule import Phase, chunk_size, phases, steps_left
from vfpilco.rollout.settings import OptimiserSettings

RETRIES = 10
"""How often a chunk with a cost that is not finite is drawn again before the policy itself is."""
COLLAPSE, PATIENCE = 1.25, 2
"""An optimisation has collapsed if the cost was so many times that of the best policy at so many evaluations."""
MOST_HALVINGS = 3
"""How often the steps are halved after a collapse; then the optimisation ends with the best policy."""
FEWEST = 20
"""A round of a race with fewer gradient steps than this shows nothing: there is no race."""
EVALUATION = 1_000_001
"""What the random key of evaluations is derived with."""
FRESH = Start("a new policy")


class Best(NamedTuple):
    """The best policy so far, by its expected cost on particles that no gradient has seen."""

    params: Params
    costs: Float[np.ndarray, "M"]
    """The cost of every particle."""
    worse: int = 0
    """Evaluations since then, in a row, with a cost far above it."""

    @property
    def cost(self) -> float:
        """The expected cost; infinite if it was never finite."""
        return mean(self.costs)

    def after(self, params: Params, costs: Float[np.ndarray, "M"]) -> Best:
        """The best one after another evaluation."""
        if mean(costs) <= self.cost:
            return Best(params, costs)
        return self._replace(worse=self.worse + 1 if mean(costs) > COLLAPSE * self.cost else 0)


def mean(costs: Float[np.ndarray, "M"]) -> float:
    """The mean; infinite if a cost is not finite."""
    return float(costs.mean()) if np.all(np.isfinite(costs)) else np.inf


class OptimiserState(NamedTuple):
    """Where an optimisation is between two chunks: everything that is needed to continue it, to the bit."""

    attempt: int
    """Which of several optimisations for the same trial this is, from 0."""
    redraw: int
    """How often the policy was drawn again."""
    phase: int
    begun: int
    """How many steps had been made when this phase began."""
    halvings: int
    """How often the steps were halved after a collapse."""
    decay: float
    """The gradient decay."""
    origin: int
    """Which of the starts it began from."""
    weight: float
    """The weight of the safe ranges."""
    best: Best
    adam: AdamState
    evaluations: Float[np.ndarray, "evaluations M"]
    """The cost of every particle under the best policy, after every evaluation of this phase."""
    costs: Float[np.ndarray, "steps"]

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it, by name."""
        raw = self._replace(adam=self.adam._replace(key=jax.random.key_data(self.adam.key)))
        leaves, _ = jax.tree_util.tree_flatten_with_path(raw)
        return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}

    def restored(self, arrays: dict[str, np.ndarray], shards: int) -> OptimiserState:
        """The one that gave `arrays`, of an optimisation like this one; `ValueError` if it was of another."""
        shapes = {name: (array.dtype, array.shape[1:]) for name, array in self.arrays().items()}
        if {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()} != shapes:
            raise ValueError("it is of another optimisation")
        names, structure = list(shapes), jax.tree.structure(self)
        raw = jax.tree.unflatten(structure, [arrays[name] for name in names])
        adam = raw.adam._replace(key=jax.random.wrap_key_data(jnp.asarray(raw.adam.key)))
        numbers = {
            name: int(getattr(raw, name)) for name in ("attempt", "redraw", "phase", "begun", "halvings", "origin")
        }
        best = raw.best._replace(worse=int(raw.best.worse))
        return raw._replace(
            adam=replicate(adam, shards), best=best, decay=float(raw.decay), weight=float(raw.weight), **numbers
        )


class Optimised(NamedTuple):
    """An optimised policy, and how it was found."""

    params: Params
    expected_cost: float
    """On fresh particles."""
    costs: Float[np.ndarray, "steps"]
    """The cost at every gradient step."""
    start: Start
    """The policy it was optimised from."""
    decay: float
    """The gradient decay it was optimised with."""
    weight: float = FIRST
    """The weight of the safe ranges at the end."""

    @property
    def chosen(self) -> str:
        """Start and gradient decay, in words."""
        ahead = "to the end of the trial" if self.decay == 1 else f"about {round(1 / (1 - self.decay))} samples ahead"
        return f"gradients look {ahead}, and the optimisation starts from {self.start.name}, as a race found"


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
    """The policies to start from; of several the best one is found by a race."""
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
        plan, settings = phases(self.settings, self.succeeded), self.settings
        now = now or self._raced(watch)
        objective = self._objective(now)
        chunk = chunk_size(self.simulator, settings)
        while now.phase < len(plan) and now.halvings <= MOST_HALVINGS:
            interrupts.check()
            phase, made = plan[now.phase], len(now.costs) - now.begun
            left = steps_left(settings, phase, made, now.begun - self._spent)
            if left <= 0 or self._has_converged(now, chunk):
                now = now._replace(phase=now.phase + 1, begun=len(now.costs), evaluations=now.best.costs[None])
                continue
            steps = min(chunk, left)
            tried = self._continued(now, objective.weighted(now.weight, settings.shards), phase, steps, watch)
            if tried is None:
                now = self._redrawn(now, watch)
                continue
            now = self._weighted(tried)
            past = sum(past.steps for past in plan[: now.phase])
            past = past if settings.stop_rule == "gain" else now.begun - self._spent
            watch.step(past + made + steps, settings.steps, float(now.costs[-10:].mean()))
            checkpoint(now)
        return self.result(now)

    @property
    def _spent(self) -> int:
        """Gradient steps of the optimisations for the same trial before this one."""
        return 0 if self.costs is None else len(self.costs)

    def _has_converged(self, now: OptimiserState, chunk: int) -> bool:
        """Whether the present phase ends early."""
        if self.settings.stop_rule == "drift":
            return stalled(now.costs[now.begun :], now.phase)
        return converged(now.evaluations, chunk, self.settings.tolerance)

    def result(self, now: OptimiserState) -> Optimised:
        """The best policy so far."""
        return Optimised(now.best.params, now.best.cost, now.costs, self.starts[now.origin], now.decay, now.weight)

    def _objective(self, now: OptimiserState) -> Objective:
        factors = None if self.multipliers is None else self.multipliers(now.adam.params)
        return Objective.of(self.simulator, self.posterior, now.adam.params, factors, self.settings.shards, now.weight)

    def _continued(
        self, now: OptimiserState, objective: Objective, phase: Phase, steps: int, watch: Watcher
    ) -> OptimiserState | None:
        """The state after so many steps of a phase and an evaluation; None if costs are not finite."""
        due = Phase(steps, phase.rate * 0.5**now.halvings, phase.dropout, now.decay)
        tried = self._finite_chunk(now.adam, objective, due, watch)
        if tried is None:
            return None
        adam, costs = tried
        return self._evaluated(now._replace(adam=adam, costs=np.concatenate([now.costs, costs])), watch)

    def _raced(self, watch: Watcher) -> OptimiserState:
        """The beginning: the winner of a race between all starts and gradient decays; the only one if there is one."""
        decays = (self.settings.gradient_decay,) if self.settings.gradient_decay else DECAYS
        first = phases(self.settings, self.succeeded)[0]
        beginnings, steps = [self.start(origin=i) for i in range(len(self.starts))], int(SHARE * first.steps)
        known = sorted((state for state in beginnings if np.isfinite(state.best.cost)), key=lambda s: s.best.cost)
        fresh = [state for state in beginnings if self.starts[state.origin].params is None]
        runners = [
            Runner(self.starts[state.origin], decay, state._replace(decay=decay))
            for state in [*known[:1], *fresh] or beginnings[:1]
            for decay in decays
        ]

        def run(runner: Runner) -> Runner:
            state = self._continued(runner.state, self._objective(runner.state), first, steps, Watcher())
            if state is None:
                return runner
            watch.step(0, self.settings.steps, float(state.costs[-10:].mean()))
            return runner._replace(state=state, cost=state.best.cost)

        winner = race(runners, run).state if steps >= FEWEST else runners[0].state
        return winner._replace(evaluations=winner.best.costs[None])

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
        best = now.best.after(params, costs)
        if best.worse < PATIENCE:
            return now._replace(best=best, evaluations=np.concatenate([now.evaluations, best.costs[None]]))
        watch.note(
            f"The expected cost rose from {best.cost:.3g} to {mean(costs):.3g} during the optimisation: it continues "
            "from the best policy, with steps half as large."
        )
        settings = self.settings
        again = jax.tree.map(lambda leaf: jnp.asarray(leaf, settings.precision), best.params)
        adam = begin(again, now.adam.key, settings.shards, settings.clip)
        best = best._replace(worse=0)
        return now._replace(best=best, evaluations=best.costs[None], adam=adam, halvings=now.halvings + 1)

    def _redrawn(self, now: OptimiserState, watch: Watcher) -> OptimiserState:
        watch.note("The expected cost was repeatedly not finite: a new initial policy is drawn.")
        if now.redraw + 1 >= RETRIES:
            raise UserError(
                "The expected cost was never finite, whatever the policy: check that the cost function is finite and "
                "smooth everywhere, or lower --learning-rate."
            )
        return self.start(now.redraw + 1)

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
