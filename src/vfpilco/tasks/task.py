"""A task: what a machine should do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError, describe_exception
from vfpilco.common.random import NumpyRandom
from vfpilco.data.results import Evaluated
from vfpilco.tasks.exploration import Exploration, Feedback, FilteredNoise
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.sensors import std_at_rest
from vfpilco.tasks.start import Start


@dataclass(frozen=True)
class Measure:
    """A number that says how good a trial was.

    Example:
        >>> Measure("overshoot", "m", of=lambda q: float(q[:, 0].max())).of(np.array([[0.0], [0.2]]))
        0.2
    """

    name: str
    """What it is called in results and reports."""
    unit: str
    """Its unit."""
    of: Callable[[np.ndarray], float]
    """Computes it from the positions (T+1, d_q)."""


def never(q: np.ndarray) -> bool:
    """The success test of a task that has none."""
    return False


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a machine should do: cost, success, start, exploration, and how long a trial is.

    Example:
        >>> import vfpilco
        >>> task = vfpilco.task("cartpole")
        >>> task.horizon, [p.name for p in task.machine.positions]
        (90, ['p', 'alpha'])
    """

    name: str
    """A short name, for folders and reports."""
    summary: str = ""
    """One line for `vfpilco tasks`."""
    machine: Machine
    """What the machine is."""
    horizon: int
    """Samples per trial, T."""
    cost: Callable[..., Any]
    """The cost of positions (…, d_q), one number each (…); written with jax.numpy. With a reference: cost(q, r)."""
    start: Start
    """Where particles start."""
    reference: Float[np.ndarray, "samples d_q"] | None = None
    """Positions to follow, r_0 … r_T; the policy then also sees the measured errors r_t - q̄_t."""
    target: tuple[float | None, ...] | None = None
    """Where every position should end, for plots and the step response; None where any value is good. Only the cost
    decides what is learned."""
    exploration: Exploration | Feedback = field(default_factory=FilteredNoise)
    """How inputs are chosen before anything is known."""
    explorations: int = 1
    """Executions with exploring inputs before the first policy, at least; short ones are repeated."""
    success: Callable[[np.ndarray], bool] = never
    """Whether a trial's positions (T+1, d_q) solve the task."""
    measures: tuple[Measure, ...] = ()
    """What else is reported about a trial."""
    ends: Callable[[np.ndarray], bool] | None = None
    """Whether a trial ends early at measured positions (d_q,); that sample is not learned from."""
    end_is_success: bool = False
    """Whether an early end, by `ends` or by a Gymnasium environment, means that the goal was reached: such a trial is a
    success. Leaving a safe range is none, nor is the time limit of an environment."""
    trials: int = 5
    """How many trials a run has by default."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `learn` that differ from its defaults for this task, such as `{"steps": 1000}`."""
    plant: str | None = None
    """The address of a plant that replaces the machine's own, as with --plant."""
    file: str | None = None
    """The file it was read from."""

    @property
    def targets(self) -> Float[np.ndarray, "samples d_q"] | None:
        """Where the positions should be at every sample: the reference, or the target; NaN where any value is good."""
        if self.reference is not None or self.target is None:
            return self.reference
        return np.tile(np.array(self.target, dtype=float), (self.horizon + 1, 1))

    def ended(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Why a trial ends early at measured positions `q`; None if it does not."""
        ended = self.ends is not None and bool(self.ends(q.copy()))
        return self.machine.outside(q) or ("the task's end was reached" if ended else None)

    def far_from_start(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Which position a trial started at that no particle starts near, in words; None if there is none."""
        drawn = np.asarray(self.start.sample(NumpyRandom(np.random.default_rng(0)), 1000))
        low, high = drawn.min(0), drawn.max(0)
        error = np.array(std_at_rest(self.machine.sensor, len(q)) or 0.0)
        margins = (high - low) + 10 * error + np.zeros(len(q))
        for p, value, least, most, far in zip(self.machine.positions, q, low, high, margins, strict=True):
            turns = 2 * np.pi * np.round((value - (least + most) / 2) / (2 * np.pi)) if p.angle else 0.0
            if not least - far <= value - turns <= most + far:
                return f"{p.name} at {value:.3g} {p.unit}, where the task has {least:.3g} to {most:.3g} {p.unit}"
        return None

    def total_cost(self, q: Float[np.ndarray, "samples d_q"]) -> float:
        """Σ c(q_t) over a trial; one that ended early is charged as if it had stayed where it ended."""
        import jax.numpy as jnp

        against = () if self.reference is None else (jnp.asarray(self.reference),)
        q = np.concatenate([q, np.repeat(q[-1:], self.horizon + 1 - len(q), axis=0)])
        return float(np.sum(np.asarray(self.cost(jnp.asarray(q), *against), dtype=float)))

    def evaluate(self, q: Float[np.ndarray, "samples d_q"], reached: bool = False) -> Evaluated:
        """Cost, success and measures of a trial; one that ended early is no success, unless it `reached` its goal."""
        try:
            complete = len(q) == self.horizon + 1
            measures = {measure.name: float(measure.of(q)) for measure in self.measures}
            success = reached or (complete and bool(self.success(q)))
            return Evaluated(self.total_cost(q), success, measures)
        except Exception as error:
            raise UserError(
                f"The cost, success test or a measure of task {self.name!r} failed on a trial "
                f"({describe_exception(error)}): the trial is saved; fix the task."
            ) from error

    def explorer(self, seed: int, i: int) -> Callable[[np.ndarray], np.ndarray]:
        """The controller of the i-th exploration; only the seed matters, so every method explores alike."""
        machine = self.machine
        if isinstance(self.exploration, Feedback):
            return self.exploration.controller(np.random.default_rng([seed, i]), machine.sampling_time, machine.limits)
        inputs = iter(self.exploring_inputs(seed, i))
        return lambda q: next(inputs)

    def exploring_inputs(self, seed: int, i: int) -> np.ndarray:
        """The inputs of the i-th exploration, if they do not depend on what is measured."""
        assert isinstance(self.exploration, Exploration)
        rng, machine = np.random.default_rng([seed, i]), self.machine
        inputs = self.exploration.inputs(rng, self.horizon, machine.sampling_time, machine.limits)
        if not np.all(np.isfinite(inputs)):
            raise UserError(f"The exploration of task {self.name!r} gave inputs that are not finite: fix it.")
        return np.asarray(inputs, dtype=float)

    def check(self) -> None:
        """Raise a `UserError` if the task cannot be learned, with a sentence that says why."""
        from vfpilco.tasks.validation import check_task

        check_task(self)
