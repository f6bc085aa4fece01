"""What is chosen from the data: memory by the delay, kernel and timing jitter by the evidence of their models.

The evidence is the probability that a model, before seeing the data, gives to them: sample by sample, each predicted
from those before it. A richer model is preferred only if that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vfpilco.common.text import count
from vfpilco.data.risk import percent
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.kernels import SE, Friction, Kernel, Linear, Poly
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
    SE() * Poly(1, on=("rates", "inputs")) + Friction(on=("rates",)),
    SE() + Linear(on=("positions", "rates", "inputs")) + Friction(on=("rates",)),
)
"""The kernels to choose from: effects that change with the position, or a linear part that carries extrapolation; both
also with dry friction."""
MEMORIES = (2, 3, 4)
"""The position memories to choose from: longer ones where positions that are not measured move, too."""
JITTERS = (0.0, 0.01, 0.03, 0.1)
"""The timing jitters to choose from, relative to the sampling time."""
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
    return state, f"Chosen: m_u = {state.m_u}{seen}. Delay: {delay.sentence}."


@dataclass(frozen=True)
class Candidate:
    """A model that may be used, and how the GPs see the machine in it."""

    dynamics: Dynamics
    kernel: Kernel
    jitter: float = 0.0

    @property
    def m_q(self) -> int:
        """The position memory; 0 for a state without one."""
        return getattr(self.dynamics.state, "m_q", 0)

    def remembering(self, m_q: int) -> Candidate:
        """The same with another position memory."""
        state = self.dynamics.state
        assert isinstance(state, VelocityFree)
        return replace(self, dynamics=replace(self.dynamics, state=replace(state, m_q=m_q)))

    def jittered(self, jitter: float, machine: Machine) -> Candidate:
        """The same with another timing jitter."""
        sensor = self.dynamics.sensor
        sensor = with_jitter(sensor.sensor if isinstance(sensor, TimingJitter) else sensor, machine, jitter)
        return replace(self, dynamics=replace(self.dynamics, sensor=sensor), jitter=jitter)


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
        steps: The length of the explorations together, and of every trial after them; the first choice was made after
            the explorations.
    """
    chosen, total = 0, 0
    for length in steps[:-1]:
        total += length
        if total >= GROWTH * chosen:
            chosen = total
    return total + steps[-1] >= GROWTH * chosen


@dataclass(frozen=True)
class Choices:
    """What to choose from; empty where something is given, or was chosen for good."""

    kernels: tuple[Kernel, ...] = ()
    jitters: tuple[float, ...] = ()
    """Timing jitters, ascending."""
    memories: tuple[int, ...] = ()
    """Position memories, ascending."""


def choose(first: Candidate, choices: Choices, machine: Machine, fit: Fit) -> Chosen:
    """The best model by its evidence on some of the data, fitted to all of them: over kernels, jitters, then memories.

    Args:
        first: The present choice. Its kernel is kept unless another one is better by a margin.
        choices: What to choose from.
        machine: The machine.
        fit: Fits the model of a candidate, to all data or to at most so many points.
    """
    if choices == Choices():
        return Chosen(fit(first, None), first)
    models, reasons = {first: fit(first, MOST_POINTS)}, []

    def best(options: dict[Candidate, str], *, ascending: bool = False) -> Candidate:
        """The first whose evidence is close to the highest; with `ascending` later ones are tried while that helps."""
        tried: dict[Candidate, Model] = {}
        for option in options:
            models[option] = tried[option] = models.get(option) or fit(option, MOST_POINTS)
            if ascending and len(tried) > 1 and _score(tried[option]) < max(map(_score, tried.values())):
                break
        found = _first_close(tried)
        reasons.append(f"Chosen: {options[found]}{_ahead(tried, found)}.")
        return found

    found = first
    if choices.kernels:
        others = [kernel for kernel in choices.kernels if kernel != first.kernel]
        found = best({replace(found, kernel=kernel): f"kernel {to_text(kernel)}" for kernel in (first.kernel, *others)})
    if choices.jitters:
        found = best({found.jittered(j, machine): _named(j) for j in choices.jitters}, ascending=True)
    if choices.memories:
        found = best({found.remembering(m_q): f"m_q = {m_q}" for m_q in choices.memories}, ascending=True)
    return Chosen(fit(found, None), found, tuple(reasons))


def _named(jitter: float) -> str:
    return f"timing jitter of {percent(jitter)} of the sampling time" if jitter else "no timing jitter"


def _first_close(models: Mapping[Candidate, Model]) -> Candidate:
    """The first whose evidence is within the margin of the highest."""
    highest = max(map(_score, models.values()))
    return next(candidate for candidate, model in models.items() if _score(model) >= highest - MARGIN)


def _score(model: Model) -> float:
    return float(sum(model.score))


def _ahead(models: Mapping[Candidate, Model], best: Candidate) -> str:
    """By how much its evidence exceeds that of the others, in words."""
    ahead = min((_score(models[best]) - _score(model) for key, model in models.items() if key != best), default=0.0)
    if ahead > MARGIN:
        return f", by {ahead:.0f} nats of evidence"
    return f": nothing else is better by {MARGIN:.0f} nats of evidence"
