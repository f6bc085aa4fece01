"""Exploring with care: inputs grow from small, and short executions are repeated until there is enough data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vfpilco.common.text import count
from vfpilco.data.risk import percent
from vfpilco.data.trial import Trial
from vfpilco.policy.limits import InputLimits
from vfpilco.tasks.exploration import Feedback
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.task import Task

FIRST, GROWN = InputLimits.first_share, 0.1
"""The share of the inputs that an exploration begins with, and the fraction of a trial after which it is 1."""
GROWN_SAFE = 0.5
"""That fraction on a machine with safe ranges."""
AHEAD = 0.1
"""How far ahead, in trials, a position has to stay in the middle part of its safe range if it moves on as it does."""
FASTEST = 0.7
"""An angle that turns further than this between two samples, in rad, moves too fast to be learned from."""
INSIDE = 0.7
"""The middle part of a safe range in which inputs may grow."""
SMALLER, LEAST = 0.7, 0.2
"""By how much inputs are smaller after every exploration that was cut short, and the least share of them."""
ENOUGH, MOST = 0.5, 10
"""The explorations hold enough data when they are together this fraction of a complete trial; at most so many."""

FULL = 0.99
"""Inputs that reached this share are said to have had their full size."""

Controller = Callable[[np.ndarray], np.ndarray]


class Growing:
    """Inputs that begin small and grow while the machine stays calm; they shrink while it moves too fast or too far.

    Calm means: no angle turns by more than `FASTEST` between two samples, and every position with a safe range is in
    its middle part, now and a moment later. On a machine with safe ranges inputs grow more slowly.
    """

    def __init__(self, controller: Controller, machine: Machine, horizon: int, first: float = FIRST) -> None:
        self.controller, self.first, self.share = controller, first, first
        grown = GROWN_SAFE if any(p.safe is not None for p in machine.positions) else GROWN
        self.growth, self.ahead = first ** (-1 / max(grown * horizon, 1)), AHEAD * horizon
        self.angles = np.array(machine.angles)
        self.low, self.high = np.array([_middle(p.safe or (-np.inf, np.inf)) for p in machine.positions]).T
        self.last: np.ndarray | None = None

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The inputs for the measured positions."""
        positions = q[: len(self.angles)]  # with the full state, velocities follow
        if self.last is not None:
            moved = positions - self.last
            calm = np.all(np.abs(moved)[self.angles] < FASTEST)
            for q_t in (positions, positions + self.ahead * moved):
                calm &= np.all((self.low <= q_t) & (q_t <= self.high))
            self.share = min(1.0, self.share * self.growth) if calm else max(self.first, self.share / self.growth**2)
        self.last = positions.copy()
        return self.share * np.asarray(self.controller(q))


def _middle(safe: tuple[float, float]) -> tuple[float, float]:
    """The part of a range in which inputs may grow; a range with one end is taken as it is."""
    low, high = safe
    if not np.isfinite(high - low):
        return safe
    margin = (1 - INSIDE) / 2 * (high - low)
    return low + margin, high - margin


def explorer(task: Task, seed: int, i: int, first: float = FIRST) -> Controller:
    """The controller of the i-th exploration, which begins with a share `first` of its inputs.

    A feedback controller needs no care of ours.
    """
    controller = task.explorer(seed, i)
    feedback = isinstance(task.exploration, Feedback)
    return controller if feedback else Growing(controller, task.machine, task.horizon, first)


def cautious_share(task: Task, explored: Sequence[Trial]) -> float:
    """The share of the inputs that the next exploration may use at most: less after those that were cut short."""
    cut = sum(trial.steps < task.horizon for trial in explored)
    return max(LEAST, SMALLER**cut)


def enough(task: Task, explored: Sequence[Trial]) -> bool:
    """Whether a first model can be learned, or further explorations would not help."""
    if len(explored) < task.explorations:
        return False
    return len(explored) >= MOST or sum(trial.steps for trial in explored) >= ENOUGH * task.horizon


def what_follows(task: Task, explored: Sequence[Trial]) -> str:
    """What follows the last exploration, which was short: the end of a sentence that says so."""
    if not enough(task, explored):
        share = percent(cautious_share(task, explored))
        return f": another one follows, with inputs of at most {share} of their full size"
    if sum(trial.steps for trial in explored) >= ENOUGH * task.horizon:
        return ", but all explorations together have enough to learn from"
    return (
        f", and none follows, because {MOST} are the most: use smaller inputs (--gentle, --slew), or let trials end "
        "later"
    )


def size_reached(task: Task, explored: Sequence[Trial], first: float = FIRST) -> float:
    """The largest share of their full size that exploring inputs reached, found again from what was measured."""
    if isinstance(task.exploration, Feedback):
        return 1.0
    sizes = []
    for i, trial in enumerate(explored):
        growing, size = Growing(np.zeros_like, task.machine, task.horizon, first), first
        for q in trial.q[: trial.steps]:
            growing(q)
            size = max(size, growing.share)
        sizes.append(size * cautious_share(task, explored[:i]))
    return max(sizes)


def explorations_words(task: Task, explored: Sequence[Trial], first: float = FIRST) -> list[str]:
    """How many explorations there were and how large their inputs became, where that is not as the task says."""
    number, samples, size = len(explored), sum(trial.steps for trial in explored), size_reached(task, explored, first)
    said = []
    if number > task.explorations:
        why = "because the first were cut short" if samples >= ENOUGH * task.horizon else "the most"
        held = f"together they have {count(samples, 'sample')}, a complete trial has {task.horizon}"
        said.append(f"Chosen: {number} explorations, {why}; {held}.")
    if size < FULL:
        said.append(
            f"Chosen: exploring inputs of up to {percent(size)} of their full size; they grow only while the machine "
            "is calm."
        )
    return said
