"""Gradient steps: Adam on the particles' expected cost, spread over the devices."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float

from vfpilco.common.compiled import compiled
from vfpilco.model.posterior import Posterior
from vfpilco.policy.base import Params, PolicyInputs
from vfpilco.rollout.constraint import FIRST
from vfpilco.rollout.devices import mesh, replicate
from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.schedule import CHUNK_STEPS, Phase


class Sampling(NamedTuple):
    """How the gradient is estimated; fixed when it is compiled."""

    particles: int
    shards: int
    clip: float = 0.0


def adam(clip: float) -> optax.GradientTransformation:
    """Adam's directions, from gradients that are clipped at `clip` times their mean length (0: never)."""
    return optax.chain(clipped(clip), optax.scale_by_adam()) if clip else optax.scale_by_adam()


def clipped(times: float) -> optax.GradientTransformation:
    """Gradients no longer than `times` their running mean length.

    One diverging particle makes a gradient some thousand times longer than the others: it would move the policy
    anywhere, and Adam would take tiny steps for long afterwards.
    """

    def init(params: Any) -> Array:
        return jnp.zeros((), jax.tree.leaves(params)[0].dtype)

    def update(gradient: Any, mean: Any, params: Any = None) -> tuple[Any, Array]:
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        most = jnp.where(mean > 0, times * mean, length)
        factor = jnp.where(length > most, most / length, 1)
        mean = jnp.where(mean > 0, 0.95 * mean + 0.05 * jnp.minimum(length, most), length)
        return jax.tree.map(lambda leaf: leaf * factor, gradient), mean.astype(length.dtype)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


class AdamState(NamedTuple):
    """Parameters, Adam's moments and the random key: everything that a gradient step needs and changes."""

    params: Params
    moments: Any
    key: Array


def begin(params: Params, key: Array, shards: int, clip: float = 0.0) -> AdamState:
    """A fresh optimisation from `params`."""
    return replicate(AdamState(params, adam(clip).init(params), key), shards)


def cost_and_gradient(
    simulator: Simulator,
    params: Params,
    posterior: Posterior,
    key: Array,
    particles: int,
    dropout: Any = None,
    gradient_decay: Any = 1.0,
    weight: Any = FIRST,
) -> tuple[Float[Array, ""], Params]:
    """Ĵ(θ) of Eq. 5 and its gradient, over `particles` particles; `weight` is that of the safe ranges."""

    def expected_cost(params: Params) -> Array:
        rollout = simulator.rollout(params, posterior, key, particles, dropout, gradient_decay)
        return simulator.expected_cost(rollout, weight)

    return jax.value_and_grad(expected_cost)(params)


class Objective(NamedTuple):
    """What is optimised, apart from the parameters."""

    posterior: Posterior
    """The model."""
    inputs: PolicyInputs
    """Units and limits of the policy's inputs."""
    multipliers: Params
    """The learning-rate multiplier of every parameter."""
    weight: Array
    """The weight of the safe ranges; without any it is not used."""

    @staticmethod
    def of(
        simulator: Simulator,
        posterior: Posterior,
        params: Params,
        multipliers: Params | None,
        shards: int,
        weight: float = FIRST,
    ) -> Objective:
        """On every device, in the precision of the parameters; multipliers are 1 if there are none."""
        if multipliers is None:
            multipliers = jax.tree.map(jnp.ones_like, params)
        cast = jax.tree.map(lambda p, multiplier: jnp.asarray(multiplier, p.dtype), params, multipliers)
        dtype = jax.tree.leaves(params)[0].dtype
        inputs = simulator.policy.inputs.arrays(dtype)
        return replicate(Objective(posterior, inputs, cast, jnp.asarray(weight, dtype)), shards)

    def weighted(self, weight: float, shards: int) -> Objective:
        """The same with another weight of the safe ranges."""
        return self._replace(weight=replicate(jnp.asarray(weight, self.weight.dtype), shards))


def gradient_steps(
    simulator: Simulator, state: AdamState, objective: Objective, phase: Phase, sampling: Sampling
) -> tuple[AdamState, Float[np.ndarray, "steps"]]:
    """Make gradient steps, at most `CHUNK_STEPS`.

    Args:
        simulator: The particle simulation; compiled once for all units and limits of the policy's inputs.
        state: Where the optimisation is.
        objective: The model, units and limits of the policy's inputs, learning-rate multipliers.
        phase: How many steps, their learning rate and dropout rate; other numbers compile nothing.
        sampling: How the gradient is estimated.

    Returns:
        The state after the last step, and the cost at every step.
    """
    dtype = jax.tree.leaves(state.params)[0].dtype
    after, costs = _gradient_steps(simulator.template, state, objective, phase.arrays(dtype), sampling)
    return after, np.asarray(costs)[: phase.steps]


@compiled(static_argnames=("template", "sampling"))
def _gradient_steps(
    template: Simulator, state: AdamState, objective: Objective, phase: Phase, sampling: Sampling
) -> tuple[AdamState, Float[Array, "most_steps"]]:
    devices = mesh(sampling.shards)
    local, per_shard = sampling.shards // devices.size, sampling.particles // sampling.shards

    def on_device(index: Array, state: AdamState, objective: Objective, phase: Phase):
        simulator = template.bound(objective.inputs)

        def one(i: Array, now: tuple[AdamState, Array]) -> tuple[AdamState, Array]:
            state, costs = now
            key, key_now = jax.random.split(state.key)

            def shard(i: Array) -> tuple[Array, Params]:
                key = jax.random.fold_in(key_now, i)
                known = state.params, objective.posterior, key, per_shard
                return cost_and_gradient(simulator, *known, phase.dropout, phase.decay, objective.weight)

            parts = jax.lax.map(shard, index) if local > 1 else jax.tree.map(lambda x: x[None], shard(index[0]))
            cost, gradient = jax.tree.map(lambda x: jax.lax.pmean(x.mean(0), "particles"), parts)
            updates, moments = adam(sampling.clip).update(gradient, state.moments)
            params = jax.tree.map(lambda p, d, m: p - phase.rate * m * d, state.params, updates, objective.multipliers)
            return AdamState(params, moments, key), costs.at[i].set(cost)

        return jax.lax.fori_loop(0, phase.steps, one, (state, jnp.zeros(CHUNK_STEPS, phase.rate.dtype)))  # pyright: ignore

    same = PartitionSpec()
    spread = jax.shard_map(
        on_device,
        mesh=devices,
        in_specs=(PartitionSpec("particles"), same, same, same),
        out_specs=same,
        check_vma=False,
    )
    return spread(jnp.arange(sampling.shards), state, objective, phase)
