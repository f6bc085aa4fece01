"""The delay between an input and the movement it makes, in whole samples, and the noise of every position.

A delay of 0 means that u_t acts between sample t and t+1. One of -1 is none of the machine's: the movement comes before
the input, so the inputs were logged a line late.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from vfpilco.recordings.motion import FIRST, MOST_DELAY, STARTS, Evidence, Terms, evidence

LEAST_SAMPLES = FIRST + 18
"""A stretch shorter than this says nothing."""
MOST_SAMPLES = 150
"""Longer stretches are cut: the work grows with the cube."""
MOST_STRETCHES = 4
LIKELY, CLEAR = 0.9, 0.999
"""How probable a delay must be to be told, and to be told without doubt."""
LATE = 6.0
"""By how much, in log evidence per position and two positions at least, a delay of -1 must be better than all others:
where inputs answer to positions it may seem better by half as much.
"""


@dataclass(frozen=True)
class Delay:
    """What a recording says about the delay."""

    logs: tuple[float, ...]
    """Log evidence of a delay of 0, 1, … samples; empty if the recording is too short."""
    unmoved: float
    """That of inputs that do nothing."""
    late: float = -np.inf
    """That of inputs that are logged one line late."""
    positions: int = 1
    """How many positions the evidence is of."""

    @property
    def probabilities(self) -> np.ndarray:
        """Of every delay, if each was equally probable before and the inputs do something."""
        if not self.logs:
            return np.empty(0)
        shares = np.exp(np.array(self.logs) - max(self.logs))
        return shares / shares.sum()

    @property
    def logged_late(self) -> bool:
        """Whether the inputs seem to be logged one line late: next best must be no delay."""
        least = LATE * max(self.positions, 2)
        return bool(self.logs) and self.late - max(self.logs) > least and int(np.argmax(self.logs)) == 0

    @property
    def samples(self) -> int | None:
        """The delay in whole samples, -1 if the inputs seem to be logged one line late; None if it cannot be told."""
        if self.logged_late:
            return -1
        return None if self.problem else int(np.argmax(self.logs))

    @property
    def problem(self) -> str | None:
        """Why the delay cannot be told, if so."""
        if not self.logs:
            return f"fewer than {LEAST_SAMPLES} samples in a row move"
        if max(self.logs) - self.unmoved < np.log(1 / (1 - LIKELY)):
            return "the inputs do not move the positions enough"
        if self.probabilities.max() < LIKELY:
            a, b = sorted(np.argsort(self.logs)[-2:].tolist())
            return f"{a} and {b} samples explain the movement about equally well"
        return None

    @property
    def sentence(self) -> str:
        """The delay in words, and how sure it is."""
        if self.logged_late:
            return "-1, inputs seem to be logged one line late: the movement comes before them; move them up by a line"
        if self.samples is None:
            return f"cannot be told: {self.problem}"
        share = float(self.probabilities.max())
        sure = "clear" if share >= CLEAR else f"likely ({share:.0%})"
        more = " or more" if self.samples == MOST_DELAY else ""
        return f"{self.samples} sample{'' if self.samples == 1 else 's'}{more}, {sure}"


def find_delay(
    stretches: Sequence[tuple[np.ndarray, np.ndarray]], angles: tuple[bool, ...], judged: Sequence[int]
) -> tuple[Delay, list[list[Evidence]]]:
    """The delay, judged by some of the positions, and the evidence of the best one: per position, one of a stretch.

    A stretch is positions (n, d_q) and inputs (n, d_u) without gaps.
    """
    delays = (*range(MOST_DELAY + 1), -1, None)
    logs = dict.fromkeys(delays, 0.0)
    seen: dict[int | None, list[list[Evidence]]] = {d: [[] for _ in angles] for d in delays}
    used = False
    with threadpool_limits(1, user_api="blas"):  # The matrices are small: threads would wait for each other.
        for q, u in pieces(stretches):
            moving = [i for i in range(len(angles)) if np.std(np.diff(q[:, i], 2)) > 0]
            starts: dict[int, Sequence[np.ndarray]] = dict.fromkeys(moving, STARTS)
            for d in delays:
                terms = Terms.of(q, u, angles, d)
                for i in moving:
                    found = evidence(q, terms, i, starts[i])
                    starts[i] = (found.start,)  # What is better for one delay is so for the others.
                    seen[d][i].append(found)
                    if i in judged:
                        logs[d] += found.log
                        used = True
    delay = Delay(tuple(logs[d] for d in range(MOST_DELAY + 1)) if used else (), logs[None], logs[-1], len(judged))
    return delay, seen[-1 if delay.logged_late else max(range(MOST_DELAY + 1), key=lambda d: logs[d])]


def pieces(stretches: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Parts of the stretches, short enough to be worked on and long enough to say something, evenly chosen."""
    parts = []
    for q, u in stretches:
        count = -(-len(q) // MOST_SAMPLES)
        edges = np.linspace(0, len(q), count + 1).round().astype(int)
        parts += [(q[a:b], u[a:b]) for a, b in itertools.pairwise(edges) if b - a >= LEAST_SAMPLES]
    if len(parts) <= MOST_STRETCHES:
        return parts
    return [parts[i] for i in np.linspace(0, len(parts) - 1, MOST_STRETCHES).round().astype(int)]
