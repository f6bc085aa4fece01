"""What is chosen from the data: memory by the delay, kernel and timing jitter by the evidence of their models.

The evidence is the probability that a model, before seeing the data, gives to them: sample by sample, each predicted
from those before it. A richer model is preferred only if that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vfpilco.common.text import count
from vfpilco.data.risk import percent
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.kernels import SE, Kernel, Linear, Poly
from vfpilco.model.kernels.expression import to_text
from vfpilco.model.model import Model
from vfpilco.model.noise import CorrelatedNoise
from vfpilco.recordings.inspection import delay_of
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.sensors import Sensor, TimingJitter, std_at_rest

KERNELS: tuple[Kernel, ...] = (
    SE() * Poly(1, on=("rates", "inputs")),
    SE() + Linear(on=("positions", "rates", "inputs")),
)
"""The kernels to choose from: effects that change with the position, or a linear part that carries extrapolation."""
JITTERS = (0.01, 0.03, 0.1)
"""The timing jitters to choose from, relative to the sampling time; none is always possible."""
MARGIN = 3.0
"""By how much, in log evidence, something else than the present choice must be better."""
MOST_POINTS = 250
"""The most training points that candidates are compared on; the chosen one is fitted to all."""
GROWTH = 2
"""Choices are made anew when there are so many times as many data as at the last choice."""


def choose_memory(explored: Sequence[Trial], machine: Machine, open_loop: bool = False) -> tuple[VelocityFree, str]:
    """The velocity-free state that fits the delay of the machine, and why, in a sentence.

    An input that acts d samples late is still on its way for d samples: the GPs see it, and so does the policy.
    `open_loop` says that the inputs did not depend on what was measured.
    """
    delay = delay_of(explored, machine, open_loop=open_loop)
    late = delay.samples if delay.samples is not None and delay.samples > 0 else 0
    state = VelocityFree(m_u=1 + late, policy_m_u=late)
    seen = f"; the policy sees {count(late, 'past input')}" if late else ""
    return state, f"Chosen: m_q = {state.m_q}, m_u = {state.m_u}{seen}. Delay: {delay.sentence}."


@dataclass(frozen=True)
class Candidate:
    """A model that may be used, and how the GPs see the machine in it."""

    dynamics: Dynamics
    kernel: Kernel
    jitter: float = 0.0


Fit = Callable[[Candidate, int | None], Model]
"""Fits the model of a candidate, to all data (None) or to at most so many points."""


@dataclass(frozen=True)
class Chosen:
    """The model that was chosen, and why, in a sentence for every choice."""

    model: Model
    candidate: Candidate
    reasons: tuple[str, ...] = ()


def with_jitter(sensor: Sensor, machine: Machine, jitter: float) -> Sensor:
    """The same sensor with a timing jitter; commanded positions are known at any time."""
    if not jitter:
        return sensor
    affected = tuple(p.commanded is None for p in machine.positions)
    return TimingJitter(sensor, jitter, () if all(affected) else affected)


def can_jitter(dynamics: Dynamics) -> bool:
    """Whether a jitter can be found: none is declared, and errors of fast motions can be distinguished from others."""
    if isinstance(dynamics.sensor, TimingJitter) or not isinstance(dynamics.noise, CorrelatedNoise):
        return False
    std = std_at_rest(dynamics.sensor, dynamics.state.signals.d_q)
    return std is not None and any(std) and isinstance(dynamics.state, VelocityFree)


def is_due(steps: Sequence[int]) -> bool:
    """Whether there are twice as many data as when something was chosen last: choices are made again then.

    Args:
        steps: The length of every trial so far; the first choice was made after the explorations.
    """
    chosen, total = 0, 0
    for length in steps[:-1]:
        total += length
        if total >= GROWTH * chosen:
            chosen = total
    return total + steps[-1] >= GROWTH * chosen


def choose(
    first: Candidate, kernels: tuple[Kernel, ...], jitters: tuple[float, ...], machine: Machine, fit: Fit
) -> Chosen:
    """The best model by its evidence on some of the data, fitted to all of them: first over kernels, then over jitters.

    Args:
        first: The present choice, which is kept unless another one is better by a margin.
        kernels: The kernels to choose from; empty if it is given.
        jitters: The jitters to choose from, ascending; empty if it is given.
        machine: The machine.
        fit: Fits the model of a candidate, to all data or to at most so many points.
    """
    if not kernels and not jitters:
        return Chosen(fit(first, None), first)
    models = {first.kernel: fit(first, MOST_POINTS)}
    models |= {kernel: fit(replace(first, kernel=kernel), MOST_POINTS) for kernel in kernels if kernel != first.kernel}
    best = max(models, key=lambda kernel: _score(models[kernel]) + MARGIN * (kernel == first.kernel))
    reasons = [f"Chosen: kernel {to_text(best)}{_ahead(models, best)}."] if kernels else []
    candidate = replace(first, kernel=best)
    if jitters:
        candidate, reason = _choose_jitter(candidate, models[best], jitters, machine, fit)
        reasons.append(reason)
    return Chosen(fit(candidate, None), candidate, tuple(reasons))


def _choose_jitter(
    first: Candidate, model: Model, jitters: tuple[float, ...], machine: Machine, fit: Fit
) -> tuple[Candidate, str]:
    """The smallest jitter whose evidence is close to that of the best one; larger ones are tried while that helps."""
    sensor = first.dynamics.sensor.sensor if isinstance(first.dynamics.sensor, TimingJitter) else first.dynamics.sensor
    candidates, models = {}, {}
    for jitter in (0.0, *jitters):
        dynamics = replace(first.dynamics, sensor=with_jitter(sensor, machine, jitter))
        candidates[jitter] = replace(first, dynamics=dynamics, jitter=jitter)
        models[jitter] = model if jitter == first.jitter else fit(candidates[jitter], MOST_POINTS)
        if jitter > first.jitter and _score(models[jitter]) < max(map(_score, models.values())):
            break
    highest = max(map(_score, models.values()))
    best = min(jitter for jitter, model in models.items() if _score(model) >= highest - MARGIN)
    found = f"timing jitter of {percent(best)} of the sampling time" if best else "no timing jitter"
    return candidates[best], f"Chosen: {found}{_ahead(models, best)}."


def _score(model: Model) -> float:
    return float(sum(model.score))


def _ahead(models: Mapping[Any, Model], best: Any) -> str:
    """By how much its evidence exceeds that of the others, in words."""
    ahead = min((_score(models[best]) - _score(model) for key, model in models.items() if key != best), default=0.0)
    if ahead > MARGIN:
        return f", by {ahead:.0f} nats of evidence"
    return f": nothing else is better by {MARGIN:.0f} nats of evidence"
