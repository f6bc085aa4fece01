"""Simulating particles through the learned dynamics: simulated measurements, policy, sampled GP step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.limits import Slew
from vfpilco.policies.base import Params, Policy
from vfpilco.posterior import Posterior, predict
from vfpilco.representation import Representation
from vfpilco.sensors import Sensor
from vfpilco.start import Start


class Rollout(NamedTuple):
    """Particle trajectories, time first."""

    q: Float[Array, "samples M d_q"]
    u: Float[Array, "steps M d_u"]
    cost: Float[Array, "samples M"]


@dataclass(frozen=True)
class Simulator:
    """Everything of a particle simulation that does not change while a policy is optimised."""

    representation: Representation
    policy: Policy
    sensor: Sensor
    start: Start
    cost: Callable[..., Any]
    horizon: int
    persistence: float = 0.0
    """Correlation of a particle's model error from one step to the next; 0 draws it anew at every step."""
    reference: tuple[tuple[float, ...], ...] | None = None
    """Positions to follow, r_0 … r_T: the policy sees the errors r_t - q̄_t too, the cost is that of q and r."""
    slew: Slew | None = None
    """How fast inputs may change."""
    penalty: tuple[float, ...] | None = None
    """What the square of every input costs while a policy is improved."""
    jitter: float = 0.0
    """Standard deviation of the times that samples are taken at, as a share of the sampling time."""
    credit: float = 1.0
    """Share of a sample's gradient that reaches the sample before."""

    def expected_cost(self, rollout: Rollout) -> Float[Array, ""]:
        """Ĵ(θ) of Eq. 5, and the price of the inputs."""
        cost = rollout.cost.mean(1).sum()
        if self.penalty is None:
            return cost
        return cost + (rollout.u**2 @ jnp.asarray(self.penalty, rollout.u.dtype)).mean(1).sum()

    def rollout(self, params: Params, posterior: Posterior, key: Array, particles: int, dropout: Any = None) -> Rollout:
        """Simulate `particles` trajectories; differentiable in `params` by reparametrisation.

        At each step (Sec. III-B): q̄_t = q_t + e_t, u_t = π(x*(q̄)), Δq_t ~ GP(x̃_t) from the true positions; the cost
        is that of the true positions.
        """
        dtype = posterior.a.dtype
        k_start, k_noise, k_step, k_keep = jax.random.split(key, 4)
        q0 = self.start.sample(k_start, particles, dtype)
        noise = self.sensor.fictitious(k_noise, (self.horizon, *q0.shape), dtype)
        late = self.jitter * jax.random.normal(jax.random.fold_in(k_noise, 1), noise.shape[:2], dtype)
        drawn = (self.horizon, particles, posterior.joints)
        gauss = persistent(jax.random.normal(k_step, drawn, dtype), self.persistence)
        keep = None if dropout is None else self.policy.dropout(k_keep, particles, dropout, dtype)
        how, d_q = self.representation, q0.shape[1]
        measurable = np.ones(d_q, dtype)  # what is commanded is known at any time
        measurable[[command.position for command in how.commands]] = 0
        r = None if self.reference is None else jnp.asarray(self.reference, dtype)[:, None, :]

        def step(carry: Any, drawn: Any) -> tuple[Any, Any]:
            state, seen, measured, before = carry if self.credit == 1 else faded(carry, self.credit)  # pyright: ignore
            e, z, goal, off = drawn
            x = how.policy_input(seen)
            x = x if goal is None else jnp.concatenate([x, goal - measured[:, :d_q]], axis=-1)
            u = self.policy(params, x, keep)
            u = u if self.slew is None else self.slew(u, before)
            mean, variance = predict(posterior, how.gp_input(state, u))
            left = how.positions(state)
            state = how.advance(state, u, how.prior_mean(state) + mean + jnp.sqrt(variance) * z)
            e = e if off is None else e + off[:, None] * (how.positions(state) - left) * measurable
            measured = how.measured(state, e)
            before = None if self.slew is None else u
            return (state, how.push(seen, measured, u), measured, before), (how.positions(state), u)

        rest = how.rest(q0)
        measured = how.measured(rest, noise[0])
        # The measurement drawn at step t is that of q_{t+1}; the last one is never seen.
        goals, lateness = None if r is None else r[:-1], late if self.jitter else None
        drawn = jnp.concatenate([noise[1:], noise[:1]]), gauss, goals, lateness
        before = None if self.slew is None else jnp.zeros((particles, how.d_u), dtype)
        _, (q, u) = jax.lax.scan(step, (rest, how.begin(measured), measured, before), drawn)
        q = jnp.concatenate([q0[None], q])
        return Rollout(q, u, self.cost(q) if r is None else self.cost(q, r))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def faded(tree: Any, share: float) -> Any:
    """The same arrays; of a gradient that comes back through them only `share` goes on.

    An unstable machine makes the gradient of a late cost grow with every sample that it goes back, until chance alone
    decides where it points. Faded, it tells of the next 1 / (1 - share) samples or so, and can be trusted.
    """
    return tree


faded.defvjp(
    lambda tree, share: (tree, None),
    lambda share, _, gradient: (jax.tree.map(lambda g: share * g, gradient),),
)


def persistent(gauss: Float[Array, "T M d_q"], correlation: float) -> Float[Array, "T M d_q"]:
    """Standard Gaussian numbers, correlated in time: z_t = ρ z_{t-1} + √(1 - ρ²) ε_t."""
    if correlation == 0:
        return gauss
    fresh = float(np.sqrt(1 - correlation**2))

    def step(z: Array, epsilon: Array) -> tuple[Array, Array]:
        z = (correlation * z + fresh * epsilon).astype(z.dtype)
        return z, z

    return jnp.concatenate([gauss[:1], jax.lax.scan(step, gauss[0], gauss[1:])[1]])
