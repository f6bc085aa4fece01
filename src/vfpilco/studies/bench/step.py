"""A gradient step as `learn` makes it."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from functools import partial

import jax

from vfpilco.model.posterior import Posterior
from vfpilco.rollout.gradient import Objective, Sampling, begin, gradient_steps
from vfpilco.rollout.schedule import Phase
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.timing import measure

STEPS = 8
"""Gradient steps per measurement."""


@dataclass(frozen=True)
class Step:
    """A measured gradient step."""

    seconds: float
    compile_seconds: float
    peak_mb: float
    """The peak memory of the process."""
    particle_steps_per_second: float


def measure_step(problem: Problem, posterior: Posterior | None = None) -> Step:
    """A gradient step, with the posterior that `learn` would use if none is given."""
    optimiser = problem.settings.optimiser
    params = problem.params(optimiser.precision)
    objective = Objective.of(problem.simulator, posterior or problem.projected(), params, None, optimiser.shards)
    state = begin(params, jax.random.key(1), optimiser.shards)
    phase = Phase(STEPS, 1e-3, optimiser.dropout)
    sampling = Sampling(optimiser.particles, optimiser.shards)
    found = measure(partial(gradient_steps, problem.simulator, state, objective, phase, sampling))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = found.seconds / STEPS
    return Step(seconds, found.compile_seconds, peak, optimiser.particles * problem.simulator.horizon / seconds)
