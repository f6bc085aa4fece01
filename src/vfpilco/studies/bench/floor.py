"""The floor of a gradient step: the time of the products and exponentials that it cannot do without."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array

from vfpilco.model.posterior import Posterior
from vfpilco.rollout.devices import mesh
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.timing import measure


def measure_floor(problem: Problem, posterior: Posterior) -> float:
    """Seconds for the products and exponentials of a gradient step and nothing else, on as many devices.

    Per time step: kernel product, exp, mean and variance products of every GP; the policy's forward and backward.
    """
    optimiser = problem.settings.optimiser
    params = problem.params(optimiser.precision)
    devices = mesh(optimiser.shards)
    shared = (posterior.z, posterior.a, posterior.w, params["centers"], params["weights"])

    def particles(x: Array, *arrays: Array) -> Array:
        return jax.lax.scan(partial(_step, *arrays), x[0], None, length=problem.simulator.horizon)[0][None]

    spread = jax.shard_map(
        particles,
        mesh=devices,
        in_specs=(PartitionSpec("particles"), *[PartitionSpec()] * len(shared)),
        out_specs=PartitionSpec("particles"),
        check_vma=False,
    )
    x = jnp.zeros((devices.size, optimiser.particles // devices.size, posterior.z.shape[2]), posterior.a.dtype)
    return measure(partial(jax.jit(spread), x, *shared)).seconds


def _step(z: Array, a: Array, w: Array, c: Array, weights: Array, x: Array, _: None) -> tuple[Array, None]:
    """One time step; every product enters the result, so that none is optimised away."""
    total = jnp.zeros((), x.dtype)
    for j in range(len(z)):
        k = jnp.exp(x @ z[j].T)
        v = k @ w[j]
        total = total + (k @ a[j]).sum() + (v * v).sum()
    s = x[:, : c.shape[1]]
    g = jnp.exp(s @ c.T)
    u = g @ weights
    h = g * (u @ weights.T)
    total = total + (h.T @ s).sum() + (g.T @ u).sum()
    back = jnp.pad(h @ c, ((0, 0), (0, x.shape[1] - c.shape[1])))
    return jnp.tanh(1e-6 * back + 1e-9 * total), None
