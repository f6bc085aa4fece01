"""Policy optimisation: Adam on the particles' expected cost."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from vfpilco.errors import UserError
from vfpilco.particles import Simulator
from vfpilco.policies.base import Params
from vfpilco.posterior import Posterior
from vfpilco.settings import Settings
from vfpilco.watch import Watcher

Tree = TypeVar("Tree")
ADAM = optax.scale_by_adam()


class Progress(NamedTuple):
    """Where an optimisation stands: everything that is needed to go on."""

    params: Params
    moments: Any
    key: Array


def begin(params: Params, key: Array, shards: int) -> Progress:
    """A fresh optimisation from `params`."""
    return everywhere(Progress(params, ADAM.init(params), key), shards)


def everywhere(tree: Tree, shards: int) -> Tree:
    """The same arrays on every device that takes part, as `run` returns them, so that it is compiled once."""
    return jax.device_put(tree, NamedSharding(mesh(shards), PartitionSpec()))


def mesh(shards: int) -> Mesh:
    """As many devices as the shards can be spread on evenly."""
    devices = jax.devices()
    used = max(n for n in range(1, min(shards, len(devices)) + 1) if shards % n == 0)
    return Mesh(np.array(devices[:used]), ("particles",))


def cost_and_gradient(
    simulator: Simulator, params: Params, posterior: Posterior, key: Array, particles: int, dropout: Any
) -> tuple[Float[Array, ""], Params]:
    """Ĵ(θ) of Eq. 5 and its gradient, over `particles` particles."""

    def expected_cost(params: Params) -> Array:
        return simulator.rollout(params, posterior, key, particles, dropout).cost.mean(1).sum()

    return jax.value_and_grad(expected_cost)(params)


@partial(jax.jit, static_argnames=("simulator", "particles", "shards"))
def run(
    simulator: Simulator,
    progress: Progress,
    posterior: Posterior,
    rates: Float[Array, "steps"],
    dropouts: Float[Array, "steps"],
    *,
    particles: int,
    shards: int,
) -> tuple[Progress, Float[Array, "steps"]]:
    """One gradient step per entry of `rates`; the new progress and the cost at every step."""
    devices = mesh(shards)
    local = shards // devices.size
    per_shard = particles // shards

    def steps(index: Array, progress: Progress, posterior: Posterior, rates: Array, dropouts: Array):
        def one(progress: Progress, schedule: tuple[Array, Array]) -> tuple[Progress, Array]:
            rate, dropout = schedule
            key, now = jax.random.split(progress.key)

            def shard(i: Array) -> tuple[Array, Params]:
                key = jax.random.fold_in(now, i)
                return cost_and_gradient(simulator, progress.params, posterior, key, per_shard, dropout)

            parts = jax.lax.map(shard, index) if local > 1 else jax.tree.map(lambda x: x[None], shard(index[0]))
            cost, gradient = jax.tree.map(lambda x: jax.lax.pmean(x.mean(0), "particles"), parts)
            updates, moments = ADAM.update(gradient, progress.moments)
            params = jax.tree.map(lambda p, d: p - rate * d, progress.params, updates)
            return Progress(params, moments, key), cost

        return jax.lax.scan(one, progress, (rates, dropouts))

    same = PartitionSpec()
    spread = jax.shard_map(
        steps,
        mesh=devices,
        in_specs=(PartitionSpec("particles"), same, same, same, same),
        out_specs=same,
        check_vma=False,
    )
    return spread(jnp.arange(shards), progress, posterior, rates, dropouts)


# -- the whole optimisation of one trial -------------------------------------------------------------------------

CHUNK = 50
"""Gradient steps between two looks at the cost."""
RETRIES = 10
"""How often a chunk with a cost that is not finite is drawn again before the policy itself is."""


class Improved(NamedTuple):
    """An improved policy and the cost at every gradient step."""

    params: Params
    costs: Float[np.ndarray, "steps"]


def schedule(settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Step sizes and dropout rates: both fall in two cuts, at one half and three quarters of the steps."""
    first, last = settings.learning_rate, settings.final_learning_rate
    phase = np.searchsorted([0.5, 0.75], np.arange(settings.steps) / settings.steps, side="right")
    rates = np.array([first, np.sqrt(first * last), last])[phase]
    dropouts = np.array([1.0, 0.5, 0.0])[phase] * settings.dropout
    return rates, dropouts


def improve(
    simulator: Simulator, posterior: Posterior, before: Params | None, settings: Settings, key: Array, watch: Watcher
) -> Improved:
    """Improve the policy `before` (or a fresh one) on the learned dynamics."""
    dtype = np.dtype(settings.precision)
    rates, dropouts = (column.astype(dtype) for column in schedule(settings))
    posterior = everywhere(posterior, settings.shards)
    for redraw in range(RETRIES):
        k_init, k_run = jax.random.split(jax.random.fold_in(key, redraw))
        params = simulator.policy.init(k_init) if before is None else before
        progress = begin(jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), params), k_run, settings.shards)
        costs: list[np.ndarray] = []
        for first in range(0, len(rates), CHUNK):
            chunk = slice(first, first + CHUNK)
            tried = _finite_chunk(simulator, progress, posterior, rates[chunk], dropouts[chunk], settings, watch)
            if tried is None:
                break
            progress, cost = tried
            costs.append(cost)
            watch.step(min(first + CHUNK, len(rates)), len(rates), float(cost[-10:].mean()))
        else:
            return Improved(jax.tree.map(np.asarray, progress.params), np.concatenate(costs))
        watch.note("The expected cost was not finite again and again: the policy is drawn anew.")
        before = None
    raise UserError(
        "The expected cost was never finite, whatever the policy: check that the cost function is finite and smooth "
        "everywhere, or lower --learning-rate."
    )


def _finite_chunk(
    simulator: Simulator,
    progress: Progress,
    posterior: Posterior,
    rates: np.ndarray,
    dropouts: np.ndarray,
    settings: Settings,
    watch: Watcher,
) -> tuple[Progress, np.ndarray] | None:
    """The next gradient steps, drawn again where a cost or parameter is not finite; None if that never helps."""
    for retry in range(RETRIES + 1):
        start = progress if retry == 0 else progress._replace(key=jax.random.fold_in(progress.key, retry))
        after, cost = run(
            simulator, start, posterior, rates, dropouts, particles=settings.particles, shards=settings.shards
        )
        cost = np.asarray(cost)
        if np.all(np.isfinite(cost)) and all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(after.params)):
            return after, cost
        if retry == 0:
            watch.note("The expected cost was not finite: the same steps are made again with other particles.")
    return None
