"""The same gradient step written plainly: float64, exact posterior, ordinary automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vfpilco.common.random import JaxRandom
from vfpilco.model.posterior import Posterior, joint
from vfpilco.policy.base import Params, PolicyInputs
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.timing import measure


def measure_reference(problem: Problem) -> float:
    """Seconds per step of the plain version; jitted, scanned, on all cores."""
    gradient = jax.jit(jax.value_and_grad(expected_cost(problem)))
    return measure(partial(gradient, problem.params("float64"), jax.random.key(1)), repeats=3).seconds


def expected_cost(problem: Problem) -> Callable[[Params, Array], Float[Array, ""]]:
    """The particles' expected cost as a function of the policy's parameters and a random key."""
    simulator, optimiser = problem.simulator, problem.settings.optimiser
    dynamics, state = simulator.dynamics, simulator.dynamics.state
    posterior = jax.tree.map(jnp.asarray, problem.posterior(0))
    inverse = posterior.w @ posterior.w.transpose(0, 2, 1)

    def cost(params: Params, key: Array) -> Array:
        keys = jax.random.split(key, 4)
        q0 = simulator.start.sample(JaxRandom(keys[0], jnp.float64), optimiser.particles)
        noise = dynamics.sensor.noise(JaxRandom(keys[1], jnp.float64), (simulator.horizon, *q0.shape))
        gauss = jax.random.normal(keys[2], noise.shape)
        keep = simulator.policy.dropout(keys[3], optimiser.particles, optimiser.dropout, jnp.float64)

        def step(carry: Any, drawn: tuple[Array, Array]) -> tuple[Any, Array]:
            x, seen = carry
            u = _policy(simulator.policy.inputs, params, state.policy_input(seen), keep)
            mean, variance = _predict(posterior, inverse, state.gp_input(x, u))
            x = state.advance(x, u, dynamics.mean(x, u) + mean + jnp.sqrt(variance) * drawn[1])
            q = state.positions(x)
            return (x, state.push(seen, q + drawn[0], u)), simulator.cost(q).mean()

        return jax.lax.scan(step, (state.begin(q0), state.begin(q0)), (noise, gauss))[1].sum()

    return cost


def _predict(posterior: Posterior, inverse: Array, x: Array) -> tuple[Array, Array]:
    """Mean and variance of every joint, from the inverse covariance."""
    means, variances = [], []
    for j in range(posterior.joints):
        params = joint(posterior.params, j)
        k = posterior.kernel.cross(params, x, posterior.z[j])
        means.append(k @ posterior.a[j] * posterior.y_scale[j])
        variance = posterior.kernel.diagonal(params, x) - (k @ inverse[j] * k).sum(-1)
        variances.append(jnp.maximum(variance, 1e-9) * posterior.y_scale[j] ** 2)
    return jnp.stack(means, 1), jnp.stack(variances, 1)


def _policy(inputs: PolicyInputs, params: Params, x: Array, keep: Any) -> Array:
    """The squashed RBF network."""
    scaled = x / jnp.asarray(inputs.scale) * jnp.exp(-params["log_lengthscales"])
    a = params["centers"] * jnp.exp(-params["log_lengthscales"])
    basis = jnp.exp(2 * scaled @ a.T - (scaled**2).sum(-1, keepdims=True) - (a**2).sum(-1)) * keep
    limits = jnp.asarray(inputs.limits)
    return limits * jnp.tanh(basis @ params["weights"] / limits)
