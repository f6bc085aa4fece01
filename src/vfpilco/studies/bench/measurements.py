"""The measurements, one per process: a gradient step with its floor and a fit, its plain version, its parts, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vfpilco.model.fit import fit
from vfpilco.studies.bench.breakdown import Breakdown, measure_breakdown
from vfpilco.studies.bench.fit_loss import FitLoss, measure_fit_loss
from vfpilco.studies.bench.floor import measure_floor
from vfpilco.studies.bench.problem import Problem
from vfpilco.studies.bench.reference import measure_reference
from vfpilco.studies.bench.step import Step, measure_step
from vfpilco.studies.bench.success import TimeToSuccess, measure_success
from vfpilco.studies.bench.timing import measure
from vfpilco.trials.choosing import KERNELS


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


@dataclass(frozen=True)
class OneCoreTimes:
    """The same gradient step when the process may use one core only."""

    seconds: float


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


def measure_one_core(n: int) -> OneCoreTimes:
    """A gradient step on the cart-pole, in a process that has been limited to one core."""
    return OneCoreTimes(measure_step(Problem.cartpole(n)).seconds)


def measure_arm(n: int) -> ArmTimes:
    """A gradient step of a robot arm, with the default number of inducing points."""
    problem = Problem.six_joints(n)
    return ArmTimes(measure_step(problem), problem.data.x.shape[1])


MEASUREMENTS: dict[type, Callable[[int], object]] = {
    CartPoleTimes: measure_cartpole,
    PlainTimes: measure_plain,
    OneCoreTimes: measure_one_core,
    ArmTimes: measure_arm,
    Breakdown: measure_breakdown,
    FitLoss: measure_fit_loss,
    TimeToSuccess: measure_success,
}
"""What can be measured, by the class of its result; each is called with the number of training points, or a seed."""
