"""The measurements, one per process: a gradient step with its floor and a fit, its plain version, or an arm's step."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax

from vfpilco.model.fit import fit
from vfpilco.rollout.gradient import Objective, Sampling, begin, gradient_steps
from vfpilco.rollout.schedule import Phase
from vfpilco.studies.bench.floor import measure_floor
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.reference import measure_reference
from vfpilco.studies.bench.timing import measure
from vfpilco.trials.choosing import KERNELS

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


@dataclass(frozen=True)
class CartPoleTimes:
    """A gradient step on the cart-pole, its floor on arrays of the same sizes, and a fit."""

    step: Step
    floor: float
    fit_seconds: float


@dataclass(frozen=True)
class PlainTimes:
    """The plain version of that gradient step."""

    seconds: float


@dataclass(frozen=True)
class ArmTimes:
    """A gradient step of a robot arm."""

    step: Step
    d_x: int
    """The number of GP inputs."""


def measure_step(problem: Problem) -> Step:
    """A gradient step as `learn` makes it."""
    optimiser = problem.settings.optimiser
    params = problem.params(optimiser.precision)
    objective = Objective.of(problem.simulator, problem.projected(), params, None, optimiser.shards)
    state = begin(params, jax.random.key(1), optimiser.shards)
    phase = Phase(STEPS, 1e-3, optimiser.dropout)
    sampling = Sampling(optimiser.particles, optimiser.shards)
    found = measure(partial(gradient_steps, problem.simulator, state, objective, phase, sampling))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = found.seconds / STEPS
    return Step(seconds, found.compile_seconds, peak, optimiser.particles * problem.simulator.horizon / seconds)


def measure_cartpole(n: int) -> CartPoleTimes:
    """A gradient step on the cart-pole with `n` training points, its floor, and a fit."""
    problem = Problem.cartpole(n)
    step = measure_step(problem)
    floor = measure_floor(problem, problem.projected())
    return CartPoleTimes(step, floor, measure_fit(problem))


def measure_fit(problem: Problem) -> float:
    """A fit as `learn` makes it, from a cold start, without its compilation."""
    dynamics, model = problem.simulator.dynamics, problem.settings.model
    kinds, least = tuple(dynamics.state.input_kinds()), dynamics.least_noise()
    kernel = model.kernel or KERNELS[0]
    fitted = partial(fit, problem.data, kernel=kernel, kinds=kinds, inducing=model.inducing, least_noise=least)
    return measure(fitted, repeats=1).seconds


def measure_plain(n: int) -> PlainTimes:
    """The plain version of a gradient step on the cart-pole."""
    return PlainTimes(measure_reference(Problem.cartpole(n)))


def measure_arm(n: int) -> ArmTimes:
    """A gradient step of a robot arm, with the default number of inducing points."""
    problem = Problem.six_joints(n)
    return ArmTimes(measure_step(problem), problem.data.x.shape[1])


MEASUREMENTS: dict[type, Callable[[int], object]] = {
    CartPoleTimes: measure_cartpole,
    PlainTimes: measure_plain,
    ArmTimes: measure_arm,
}
"""What can be measured, by the class of its result; each is called with the number of training points."""
