"""Simulating particles through the learned dynamics: simulated measurements, policy, sampled GP step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float

from vfpilco.common.compiled import compiled
from vfpilco.common.random import JaxRandom
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.posterior import Posterior
from vfpilco.policy.base import Params, Policy, PolicyInputs
from vfpilco.policy.limits import Slew
from vfpilco.rollout.constraint import FIRST, SafeRanges
from vfpilco.rollout.devices import mesh
from vfpilco.rollout.draws import Draws, Independent
from vfpilco.state.base import CanMove
from vfpilco.tasks.start import Moving, Start


class Rollout(NamedTuple):
    """Particle trajectories, time first."""

    q: Float[Array, "samples M d_q"]
    u: Float[Array, "steps M d_u"]
    cost: Float[Array, "samples M"]


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """Everything about a particle simulation that does not change during an optimisation."""

    dynamics: Dynamics
    """What the GPs predict, and through which sensor the policy sees it."""
    policy: Policy
    start: Start
    cost: Callable[..., Any]
    horizon: int
    reference: tuple[tuple[float, ...], ...] | None = None
    """Positions to follow, r_0 … r_T: the policy also sees the errors r_t - q̄_t, the cost is that of q and r."""
    slew: Slew | None = None
    """How fast inputs may change."""
    penalty: tuple[float, ...] | None = None
    """Weights of the squares of the inputs in the cost during the optimisation."""
    change_penalty: tuple[float, ...] | None = None
    """Weights of the squares of their changes from sample to sample."""
    safe: SafeRanges | None = None
    """The safe ranges that particles should not leave during the optimisation."""
    redraw_dropout: bool = False
    """Whether dropout is drawn again at every step, or once for a complete rollout."""
    draws: Draws = field(default_factory=Independent)
    """How particles draw the model's errors."""

    @property
    def template(self) -> Simulator:
        """What is compiled: the same for any units and limits of the policy's inputs."""
        return self.bound(self.policy.inputs.template)

    def bound(self, inputs: PolicyInputs) -> Simulator:
        """The same simulation with other units and limits of the policy's inputs."""
        return replace(self, policy=self.policy.bind(inputs))

    def costs(self, rollout: Rollout, weight: Any = FIRST) -> Float[Array, "M"]:
        """The cost of every particle, with the penalties on its inputs and, with that `weight`, on leaving."""
        cost = rollout.cost.sum(0)
        if self.penalty is not None:
            cost = cost + (rollout.u**2 @ jnp.asarray(self.penalty, rollout.u.dtype)).sum(0)
        if self.change_penalty is not None:
            changes = rollout.u[1:] - rollout.u[:-1]
            cost = cost + (changes**2 @ jnp.asarray(self.change_penalty, rollout.u.dtype)).sum(0)
        return cost if self.safe is None else self.safe.penalised(cost, rollout.q, weight)

    def expected_cost(self, rollout: Rollout, weight: Any = FIRST) -> Float[Array, ""]:
        """Ĵ(θ) of Eq. 5, with the penalties of `costs`."""
        return self.costs(rollout, weight).mean()

    def rollout(
        self,
        params: Params,
        posterior: Posterior,
        key: Array,
        particles: int,
        dropout: Any = None,
        gradient_decay: Any = 1.0,
    ) -> Rollout:
        """Simulate `particles` trajectories; differentiable in `params` by reparametrisation.

        At each step (Sec. III-B): q̄_t is measured, u_t = π(x*(q̄)), Δq_t ~ GP(x̃_t) from the true positions; the cost
        is that of the true positions.

        Args:
            params: The policy's parameters.
            posterior: The learned dynamics.
            key: Fixes all randomness.
            particles: How many trajectories.
            dropout: The dropout rate; None: no dropout.
            gradient_decay: Factor on the gradient per sample that it is propagated back.
        """
        dtype, state, sensor = posterior.a.dtype, self.dynamics.state, self.dynamics.sensor
        k_start, k_noise, k_step, k_keep = jax.random.split(key, 4)
        random = JaxRandom(k_start, dtype)
        q0 = self.start.sample(random, particles)
        noise = sensor.noise(JaxRandom(k_noise, dtype), (self.horizon, *q0.shape))
        gauss = jax.random.normal(k_step, (self.horizon, particles, posterior.joints), dtype)
        redraw = self.redraw_dropout and dropout is not None
        fixed = None if dropout is None or redraw else self.policy.dropout(k_keep, particles, dropout, dtype)
        keys = jax.random.split(k_keep, self.horizon) if redraw else None
        r = None if self.reference is None else jnp.asarray(self.reference, dtype)[:, None, :]

        def step(carry: Any, drawn: Any) -> tuple[Any, Any]:
            x, memory, sensing, measured, before, known = decay(carry, gradient_decay)
            e, z, goal, k_now = drawn
            keep = fixed if k_now is None else self.policy.dropout(k_now, particles, dropout, dtype)
            seen = state.policy_input(memory)
            seen = seen if goal is None else jnp.concatenate([seen, goal - measured[:, : q0.shape[1]]], axis=-1)
            u = self.policy(params, seen, keep)
            u = u if self.slew is None else self.slew(u, before)
            change, known = self.draws.draw(posterior, known, state.gp_input(x, u), z)
            x = self.dynamics.advance(x, u, self.dynamics.mean(x, u) + change)
            observed, sensing = sensor.measure(sensing, state.positions(x), e)
            measured = state.measured(x, observed)
            before = None if self.slew is None else u
            return (x, state.push(memory, measured, u), sensing, measured, before, known), (state.positions(x), u)

        begun = self._begun(q0, random)
        observed, sensing = sensor.measure(sensor.begin(q0), q0, jax.tree.map(lambda rows: rows[0], noise))
        measured = state.measured(begun, observed)
        # The measurement drawn at step t is that of q_{t+1}; the last one is never seen.
        later = jax.tree.map(lambda rows: jnp.concatenate([rows[1:], rows[:1]]), noise)
        before = None if self.slew is None else jnp.zeros((particles, state.signals.d_u), dtype)
        known = self.draws.begin(posterior, particles, self.horizon)
        first = (begun, state.begin(measured), sensing, measured, before, known)
        _, (q, u) = jax.lax.scan(step, first, (later, gauss, None if r is None else r[:-1], keys))
        q = jnp.concatenate([q0[None], q])
        return Rollout(q, u, self.cost(q) if r is None else self.cost(q, r))

    def _begun(self, q0: Float[Array, "M d_q"], random: JaxRandom) -> Any:
        """The states in which particles start: at rest in `q0`, or in motion if the start says so."""
        state = self.dynamics.state
        if not isinstance(self.start, Moving):
            return state.rest(q0)
        assert isinstance(state, CanMove)
        return state.moving(q0, self.start.velocity(random, len(q0)))


def simulate(simulator: Simulator, params: Params, posterior: Posterior, key: Array, particles: int) -> Rollout:
    """A rollout as one compiled function, the same for any units and limits of the policy's inputs."""
    inputs = simulator.policy.inputs.arrays(posterior.a.dtype)
    return _simulate(simulator.template, inputs, jax.tree.map(jnp.asarray, params), posterior, key, particles)


@compiled(static_argnames=("template", "particles"))
def _simulate(
    template: Simulator, inputs: PolicyInputs, params: Params, posterior: Posterior, key: Array, particles: int
) -> Rollout:
    at_once = template.draws.at_once
    if at_once is None:
        return template.bound(inputs).rollout(params, posterior, key, particles)
    groups = -(-particles // at_once)

    def on_device(keys: Array, inputs: PolicyInputs, params: Params, posterior: Posterior) -> Rollout:
        simulator = template.bound(inputs)
        return jax.lax.map(lambda key: simulator.rollout(params, posterior, key, at_once), keys)

    same, spread = PartitionSpec(), PartitionSpec("particles")
    on_devices = jax.shard_map(
        on_device, mesh=mesh(groups), in_specs=(spread, same, same, same), out_specs=spread, check_vma=False
    )
    parts = on_devices(jax.random.split(key, groups), inputs, params, posterior)
    return jax.tree.map(lambda part: jnp.concatenate(part, axis=1)[:, :particles], parts)


@jax.custom_vjp
def decay(tree: Any, factor: Any) -> Any:
    """The same arrays; gradients that are propagated back through them are multiplied by `factor`.

    On an unstable machine the gradient of a late cost grows with every sample that it is propagated back, until noise
    dominates it. With decay it covers the next 1 / (1 - factor) samples or so, and is reliable.
    """
    return tree


decay.defvjp(
    lambda tree, factor: (tree, factor),
    lambda factor, gradient: (jax.tree.map(lambda g: jnp.asarray(factor, g.dtype) * g, gradient), None),
)
