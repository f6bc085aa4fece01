"""Model-predictive control on the same GPs: inputs are planned at every sample, by the cross-entropy method.

Explorations, models and trials are those of the method itself; only the policy is another one. A plan is a sequence of
inputs, and its cost is that of the mean prediction: a particle without any randomness.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.common.compiled import compiled
from vfpilco.machines.load import load
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.posterior import Posterior, predict
from vfpilco.storage.memory import Memory
from vfpilco.studies.alternatives.records import Attempt
from vfpilco.studies.worker import Silent
from vfpilco.trials.execute import connected
from vfpilco.trials.exploring import enough
from vfpilco.trials.learner import Learner
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import default_settings

TRIALS = 10
"""The most trials."""
SECONDS = 1.0
"""How far ahead is planned."""
POPULATION, ELITES, ROUNDS = 256, 26, 4
"""Plans that are tried in a round, how many of them the next round is drawn around, and rounds per sample."""
WIDTH, LEAST = 0.5, 0.05
"""Standard deviation of the first round of plans and the least one, relative to the limits."""


@dataclass(frozen=True)
class Problem:
    """What is planned; fixed when it is compiled."""

    dynamics: Dynamics
    cost: Callable[..., Any]
    population: int = POPULATION
    elites: int = ELITES
    rounds: int = ROUNDS

    def costs(self, posterior: Posterior, x: Any, plans: Float[Array, "N H d_u"]) -> Float[Array, "N"]:
        """The cost of the mean prediction under every plan, from the state `x`."""
        dynamics, state = self.dynamics, self.dynamics.state
        begin = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(plans), *leaf.shape)), x)

        def step(x: Any, u: Array) -> tuple[Any, Array]:
            change, _ = predict(posterior, state.gp_input(x, u))
            x = state.advance(x, u, dynamics.mean(x, u) + change)
            return x, state.positions(x)

        _, q = jax.lax.scan(step, begin, plans.swapaxes(0, 1))
        cost = self.cost(q).sum(0)
        return jnp.where(jnp.isfinite(cost), cost, jnp.inf)


@compiled(static_argnames="problem")
def improved(
    problem: Problem, posterior: Posterior, x: Any, plan: Float[Array, "H d_u"], limits: Float[Array, "d_u"], key: Array
) -> Float[Array, "H d_u"]:
    """A better plan, by the cross-entropy method: every round is drawn around the best plans of the one before."""

    def one_round(known: tuple[Array, Array], key: Array) -> tuple[tuple[Array, Array], None]:
        mean, std = known
        drawn = mean + std * jax.random.normal(key, (problem.population, *mean.shape), mean.dtype)
        plans = jnp.clip(drawn.at[0].set(mean), -limits, limits)  # the best one so far takes part
        best = plans[jnp.argsort(problem.costs(posterior, x, plans))[: problem.elites]]
        return (best.mean(0), jnp.maximum(best.std(0), LEAST * limits)), None

    first = plan, jnp.broadcast_to(WIDTH * limits, plan.shape)
    (mean, _), _ = jax.lax.scan(one_round, first, jax.random.split(key, problem.rounds))
    return mean


class Planner:
    """A controller that plans anew at every sample and applies the first input of its plan."""

    def __init__(self, problem: Problem, posterior: Posterior, limits: np.ndarray, ahead: int, key: Array) -> None:
        self.problem, self.posterior, self.key = problem, posterior, key
        self.limits = jnp.asarray(limits, posterior.a.dtype)
        self.plan = jnp.zeros((ahead, len(limits)), posterior.a.dtype)
        self.window, self.u = None, np.zeros(len(limits))

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The inputs for the measured positions."""
        state = self.problem.dynamics.state
        self.window = state.begin(q) if self.window is None else state.push(self.window, q, self.u)
        self.key, key = jax.random.split(self.key)
        x = jax.tree.map(lambda leaf: jnp.asarray(leaf, self.plan.dtype), self.window)
        plan = improved(self.problem, self.posterior, x, self.plan, self.limits, key)
        self.plan = jnp.concatenate([plan[1:], plan[-1:]])
        self.u = np.asarray(plan[0], dtype=float)
        return self.u


def learn(task_name: str, seed: int, trials: int = TRIALS, seconds: float = SECONDS, **sizes: int) -> Attempt:
    """Explore, then fit the GPs and run a trial with plans on them, until one succeeds.

    Args:
        task_name: A built-in task without a reference.
        seed: Fixes all randomness; explorations are those of the method itself.
        trials: The most trials.
        seconds: How far ahead is planned.
        **sizes: Those of a `Problem`.
    """
    task, begun = load(task_name), time.monotonic()
    plan = Plan(task, default_settings(task), seed, trials)
    ahead = max(round(seconds / task.machine.sampling_time), 1)
    with connected(task) as plant:
        learner = Learner(plan, plant, Memory(), Silent())
        while not enough(task, learner.result.explored):
            learner.explore(len(learner.result.explored))
        for trial in range(1, trials + 1):
            model = learner.learn_model(trial)
            posterior = model.posterior.cast(model.precision("float32"))
            problem = Problem(learner.dynamics, task.cost, **sizes)
            planner = Planner(problem, posterior, task.machine.limits, ahead, learner.key_for(trial, 0))
            learner.journal.record(learner.on_plant(trial, planner), "policy", trial)
            if learner.result.successes[-1]:
                break
    last = learner.result.rows[-1]
    experience = last.experience_s if last.success else sum(trial.duration for trial in learner.result.trials)
    return Attempt(last.success, experience, (time.monotonic() - begun) / 60, len(learner.result.rows))
