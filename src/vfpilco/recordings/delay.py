"""The delay between an input and the motion it causes, in samples, and the noise of every position.

A delay of 0 means that u_t acts between sample t and t+1. A delay of -1 is not a property of the machine: the positions
move before the input, so the inputs were logged one line late.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from vfpilco.common.text import count
from vfpilco.recordings.motion import FIRST, MOST_DELAY, STARTS, Evidence, Terms, evidence

LEAST_SAMPLES = FIRST + 18
"""The length of the shortest segment that is used."""
MOST_SAMPLES = 150
"""Longer segments are cut: the work grows with the cube of the length."""
MOST_SEGMENTS = 4
LIKELY, CLEAR = 0.9, 0.999
"""How probable a delay must be to be reported, and to be called clear."""
LATE = 6.0
"""By how much, in log evidence per position (counted as two at least), a delay of -1 must exceed all others.

For inputs that are computed from the positions it may appear better by half as much.
"""
Segment = tuple[np.ndarray, np.ndarray]
"""Positions (n, d_q) and inputs (n, d_u) without gaps."""


@dataclass(frozen=True)
class Delay:
    """What recordings show about the delay."""

    log_evidence: tuple[float, ...]
    """Log evidence of a delay of 0, 1, … samples; empty if the recordings are too short."""
    without_inputs: float
    """Log evidence of inputs that have no effect."""
    one_line_late: float = -np.inf
    """Log evidence of inputs that are logged one line late."""
    positions: int = 1
    """How many positions the evidence is computed from."""

    @property
    def probabilities(self) -> np.ndarray:
        """The probability of every delay, if all were equally probable before and the inputs have an effect."""
        if not self.log_evidence:
            return np.empty(0)
        shares = np.exp(np.array(self.log_evidence) - max(self.log_evidence))
        return shares / shares.sum()

    @property
    def logged_late(self) -> bool:
        """Whether the inputs seem to be logged one line late; the second best delay must then be 0."""
        if not self.log_evidence:
            return False
        margin = self.one_line_late - max(self.log_evidence)
        return margin > LATE * max(self.positions, 2) and int(np.argmax(self.log_evidence)) == 0

    @property
    def samples(self) -> int | None:
        """The delay in samples; -1 if the inputs seem to be logged one line late, None if it is unknown."""
        if self.logged_late:
            return -1
        return None if self.problem else int(np.argmax(self.log_evidence))

    @property
    def problem(self) -> str | None:
        """Why the delay cannot be determined; None if it can."""
        if not self.log_evidence:
            return f"fewer than {LEAST_SAMPLES} consecutive samples show motion"
        if max(self.log_evidence) - self.without_inputs < np.log(1 / (1 - LIKELY)):
            return "the inputs do not move the positions enough"
        if self.probabilities.max() < LIKELY:
            a, b = sorted(np.argsort(self.log_evidence)[-2:].tolist())
            return f"{a} and {b} samples explain the motion about equally well"
        return None

    @property
    def sentence(self) -> str:
        """The delay in words, and how certain it is."""
        if self.logged_late:
            return "-1, inputs seem to be logged one line late: the positions move before them; move them up by a line"
        if self.samples is None:
            return f"cannot be determined: {self.problem}"
        share = float(self.probabilities.max())
        certainty = "clear" if share >= CLEAR else f"likely ({share:.0%})"
        more = " or more" if self.samples == MOST_DELAY else ""
        return f"{count(self.samples, 'sample')}{more}, {certainty}"


def find_delay(
    segments: Sequence[Segment], angles: tuple[bool, ...], used: Sequence[int]
) -> tuple[Delay, list[list[Evidence]]]:
    """Estimate the delay.

    Args:
        segments: Parts of recordings without gaps.
        angles: Which positions are angles.
        used: The indices of the positions that the delay is computed from.

    Returns:
        The delay, and the evidence of the best one: a list per position, with an entry per segment.
    """
    delays = (*range(MOST_DELAY + 1), -1, None)
    logs = dict.fromkeys(delays, 0.0)
    found: dict[int | None, list[list[Evidence]]] = {d: [[] for _ in angles] for d in delays}
    any_used = False
    with threadpool_limits(1, user_api="blas"):  # The matrices are small: threads would wait for each other.
        for q, u in pieces(segments):
            moving = [i for i in range(len(angles)) if np.std(np.diff(q[:, i], 2)) > 0]
            starts: dict[int, Sequence[np.ndarray]] = dict.fromkeys(moving, STARTS)
            for d in delays:
                terms = Terms.of(q, u, angles, d)
                for i in moving:
                    one = evidence(q, terms, i, starts[i])
                    starts[i] = (one.start,)  # The start that is better for one delay is better for all.
                    found[d][i].append(one)
                    if i in used:
                        logs[d] += one.log
                        any_used = True
    log_evidence = tuple(logs[d] for d in range(MOST_DELAY + 1)) if any_used else ()
    delay = Delay(log_evidence, logs[None], logs[-1], len(used))
    return delay, found[-1 if delay.logged_late else max(range(MOST_DELAY + 1), key=lambda d: logs[d])]


def pieces(segments: Sequence[Segment]) -> list[Segment]:
    """Parts of the segments, neither too long nor too short, evenly chosen."""
    parts = []
    for q, u in segments:
        pieces_of_segment = -(-len(q) // MOST_SAMPLES)
        edges = np.linspace(0, len(q), pieces_of_segment + 1).round().astype(int)
        parts += [(q[a:b], u[a:b]) for a, b in itertools.pairwise(edges) if b - a >= LEAST_SAMPLES]
    if len(parts) <= MOST_SEGMENTS:
        return parts
    return [parts[i] for i in np.linspace(0, len(parts) - 1, MOST_SEGMENTS).round().astype(int)]
