"""What a gradient step spends its time on: how much faster it is when one part of it is nearly empty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from vfpilco.model.posterior import Posterior
from vfpilco.policy.rbf import RBF
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.step import measure_step

FEW = 8
"""Inducing points or basis functions of a part that is nearly empty."""


@dataclass(frozen=True)
class Breakdown:
    """The parts of a gradient step in seconds; they do not quite add up, because parts run side by side."""

    variance: float
    """The GPs' variance products."""
    kernels: float
    """The GPs' kernels, means and their gradients."""
    policy: float
    """The basis functions of the policy."""
    rest: float
    """Everything else: random numbers, dropout, windows, measurements, cost, Adam."""


def measure_breakdown(n: int) -> Breakdown:
    """The parts of a gradient step on the cart-pole with `n` training points."""
    problem = Problem.cartpole(n)
    posterior = problem.projected()
    without_variance = replace(posterior, w=posterior.w[..., :1])
    nearly_empty: Posterior = jax.tree.map(jnp.asarray, replace(posterior, **_first(posterior)))
    small_policy = problem.with_policy(RBF(FEW))
    whole, mean_only, no_gps, no_policy, neither = (
        measure_step(each, used).seconds
        for each, used in (
            (problem, posterior),
            (problem, without_variance),
            (problem, nearly_empty),
            (small_policy, posterior),
            (small_policy, nearly_empty),
        )
    )
    return Breakdown(whole - mean_only, mean_only - no_gps, whole - no_policy, neither)


def _first(posterior: Posterior) -> dict[str, jax.Array]:
    """The arrays of a posterior with its first few inducing points and one direction."""
    return {"z": posterior.z[:, :FEW], "a": posterior.a[:, :FEW], "w": posterior.w[:, :FEW, :1]}
