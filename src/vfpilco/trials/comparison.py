"""A trial compared with what was predicted of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vfpilco.data.results import CostBand, Explanation, Forecast, ModelReport, PosteriorReport
from vfpilco.data.trial import Trial
from vfpilco.model import diagnostics
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.inducing import MOST_ERROR, MOST_NATS, SIZES, size_of
from vfpilco.model.model import Model
from vfpilco.rollout.particles import Rollout
from vfpilco.rollout.risk import risk_of, within
from vfpilco.tasks.task import Task, never

SMALLEST = 1e-9
"""The smallest standard deviation of particles that a trial is compared with."""


@dataclass(frozen=True)
class Coverage:
    """How the particles' bands cover a trial; the fields are those of `TrialResult`."""

    band_coverage: float
    """The fraction of the samples within the 95 % band."""
    half_coverage: float
    """… within the 50 % band."""
    band_width: list[float]
    """The mean width of the 95 % band, position by position."""
    log_score: float
    """The mean log density of a sample, by a Gaussian with the mean and standard deviation of the particles."""


@dataclass(frozen=True)
class Comparison(Coverage, Forecast):
    """Predicted against real: what was predicted, how well the bands cover the trajectory, model errors."""

    within_95: float
    """The fraction of the largest positions, speeds and inputs within their predicted 95 % quantiles."""
    within_999: float
    """… within their 99.9 % quantiles."""
    model: ModelReport
    explanation: Explanation | None = None


def compare(
    task: Task,
    executed: Trial,
    predicted: Rollout,
    model: Model,
    dynamics: Dynamics,
    data: TrainingSet,
    note: Callable[[str], None] | None = None,
    *,
    chosen: bool = False,
) -> Comparison:
    """Compare a trial with the particles that predicted it.

    `data` is what the model was learned from. `note` is called if there are too few inducing points. `chosen` says that
    their number was not given by hand: then the next model chooses a larger one itself, unless it is the largest.
    """
    errors = diagnostics.errors(model, dynamics, executed)
    report = ModelReport(
        noise=model.noise.tolist(),
        rounding=model.rounding.tolist(),
        lengthscales=[finite(joint) for joint in model.lengthscales],
        one_step_error=finite(errors.one_step),
        multi_step_error=finite(errors.multi_step),
        posterior=posterior_report(model, data, dynamics.training_set(executed), note, chosen=chosen),
    )
    expected = forecast(task, predicted)
    likely, extreme = within(expected.risk, executed.evaluated, executed.u, task.machine.sampling_time)
    covered = vars(coverage(executed, predicted))
    return Comparison(**vars(expected), **covered, within_95=likely, within_999=extreme, model=report)


def coverage(executed: Trial, predicted: Rollout) -> Coverage:
    """How the particles' bands cover a trial."""
    samples = min(len(predicted.q), len(executed.q))
    real, particles = executed.evaluated[:samples], np.asarray(predicted.q[:samples], dtype=float)
    low, lower, upper, high = np.quantile(particles, [0.025, 0.25, 0.75, 0.975], axis=1)
    std = np.maximum(particles.std(1), SMALLEST)
    z = (real - particles.mean(1)) / std
    return Coverage(
        band_coverage=float(((low <= real) & (real <= high)).mean()),
        half_coverage=float(((lower <= real) & (real <= upper)).mean()),
        band_width=(high - low).mean(0).tolist(),
        log_score=float(np.mean(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2 * np.pi))),
    )


def forecast(task: Task, predicted: Rollout) -> Forecast:
    """What the particles say about a trial before it is executed."""
    machine = task.machine
    risk = risk_of(predicted, machine.positions, machine.inputs, machine.sampling_time)
    return Forecast(cost_band(predicted), success_chance(task, predicted), risk)


def success_chance(task: Task, predicted: Rollout) -> float | None:
    """The fraction of the particles that solve the task; None if the task has no success test."""
    if task.success is never and not (task.end_is_success and task.ends is not None):
        return None
    return float(np.mean([_succeeds(task, q) for q in np.asarray(predicted.q).swapaxes(0, 1)]))


def _succeeds(task: Task, q: np.ndarray) -> bool:
    """Whether a particle solves the task. Where a trial would end early, it fails, unless that is its goal."""
    if task.ends is not None or any(position.safe is not None for position in task.machine.positions):
        for t, sample in enumerate(q[1:], start=1):
            if task.ended(sample):
                if task.end_is_success and task.machine.outside(sample) is None:
                    return True
                if t < len(q) - 1:
                    return False
    return bool(task.success(q))


def cost_band(predicted: Rollout) -> CostBand:
    """The expected cost of a trial and the 95 % band around it."""
    totals = predicted.cost.sum(0)
    low, high = np.quantile(totals, [0.025, 0.975])
    return CostBand(float(totals.mean()), float(low), float(high))


def posterior_report(
    model: Model, data: TrainingSet, test: TrainingSet, note: Callable[[str], None] | None, *, chosen: bool = False
) -> PosteriorReport:
    """Exact or projected, and what the projection loses on the trial just executed; a note if that is too much."""
    if model.exact:
        return PosteriorReport("exact", model.points)
    loss = diagnostics.projection_loss(model, data, test)
    worse = []
    if max(loss.error) > MOST_ERROR:
        worse.append(f"{max(loss.error):.1%} in one-step error")
    if max(loss.log_density) > MOST_NATS:
        worse.append(f"{max(loss.log_density):.3f} nats per sample")
    _, inducing, directions = model.posterior.w.shape
    too_few = f"The projected GP posterior is worse than the exact one by {' and '.join(worse)}"
    if worse and note is not None and not chosen:
        note(f"{too_few}: if policies fail, leave out --inducing or raise it.")
    elif worse and note is not None and size_of(model) == SIZES[-1]:
        note(
            f"{too_few}, although its inducing points are the most that are chosen: if policies fail, give more, "
            f"such as --inducing {2 * SIZES[-1]}."
        )
    return PosteriorReport(
        "projected", model.points, inducing, directions, loss.error.tolist(), loss.log_density.tolist()
    )


def finite(numbers: np.ndarray) -> list[float | None]:
    """Numbers for JSON: None for those that are not finite."""
    return [float(v) if np.isfinite(v) else None for v in numbers]
