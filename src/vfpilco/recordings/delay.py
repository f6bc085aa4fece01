"""The delay between an input and the motion it causes, in samples, and the noise of every position.

A delay of 0 means that u_t acts between sample t and t+1. A delay of -1 is not a property of the machine: the positions
move before the input, so the inputs were logged one line late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from vfpilco.common.text import count
from vfpilco.recordings.excitation import LEAST_ROWS, LEAST_SAMPLES, Freedom, Segment, moving, pieces
from vfpilco.recordings.motion import FIRST, SEARCHED, Evidence, Motion, evidence

BLOCK = 8
"""How many samples make a stretch, whose evidence is compared with that of the others."""
REFINED = 15
"""Steps of the optimisation for each delay, from the scales that were found for all of them."""
LIKELY, CLEAR = 0.9, 0.999
"""How probable a delay must be to be reported, and to be called clear."""
LIKELY_OPEN = 0.8
"""To be reported, if the inputs are known not to depend on the measurements."""
AGREE = 0.75
"""The fraction of the stretches with something to say that must agree with a clear delay."""
CLOSED = 0.3
"""Inputs of which the measurement explains this much are taken to be computed from it."""
TEMPERED = 0.5
"""The weight of evidence from such inputs."""
SMOOTH = 0.02
"""Inputs of which less is new at every sample are smooth."""
LATE = 6.0
"""By how much, in log evidence per position (counted as two at least), a delay of -1 must exceed all others."""
HYPOTHESES: tuple[int | None, ...] = (*range(SEARCHED + 1), -1, None)
"""Delays, inputs that are logged one line late, and inputs without effect."""


@dataclass(frozen=True)
class Delay:
    """What recordings show about the delay."""

    stretches: tuple[tuple[float, ...], ...] = ()
    """Log evidence of each of the `HYPOTHESES` in every stretch of motion; empty if there is none."""
    freedom: Freedom = field(default_factory=Freedom)
    """How far the inputs are determined by what was measured."""
    positions: int = 1
    """How many positions the evidence is computed from."""
    open_loop: bool = False
    """Whether the inputs are known not to depend on the measurements, and to be logged on their line."""
    unusable: str = ""
    """Why no stretch can be used, if there is none."""

    @property
    def log_evidence(self) -> tuple[float, ...]:
        """Log evidence of a delay of 0, 1, … samples; empty if it is unknown."""
        return tuple(self._sums[: SEARCHED + 1].tolist())

    @property
    def one_line_late(self) -> float:
        """Log evidence of inputs that are logged one line late."""
        return float(self._sums[-2])

    @property
    def without_inputs(self) -> float:
        """Log evidence of inputs that have no effect."""
        return float(self._sums[-1])

    @property
    def probabilities(self) -> np.ndarray:
        """The probability of every delay, if all were equally probable before and the inputs have an effect."""
        if not self.stretches:
            return np.empty(0)
        shares = np.exp([-self._margin(d) for d in range(SEARCHED + 1)])
        return shares / shares.sum()

    @property
    def closed_loop(self) -> bool:
        """Whether the inputs seem to be computed from the measurements."""
        return not self.open_loop and self.freedom.feedback > CLOSED

    @property
    def logged_late(self) -> bool:
        """Whether the inputs seem to be logged one line late; the second best delay must then be 0."""
        if not self.stretches or self._best != 0 or self.open_loop or self.closed_loop:
            return False
        margin = self.one_line_late - max(self.log_evidence)
        return margin > LATE * max(self.positions, 2) and 1 - self._agreement(-1) >= AGREE

    @property
    def samples(self) -> int | None:
        """The delay in samples; -1 if the inputs seem to be logged one line late, None if it is unknown."""
        if self.logged_late:
            return -1
        return None if self.problem else self._best

    @property
    def clear(self) -> bool:
        """Whether the delay is beyond doubt: its margin is large even without its best stretch, and most agree.

        Inputs that are logged late are never beyond doubt: those of a controller may look the same.
        """
        if self.samples is None or self.logged_late:
            return False
        rivals = [d for d in HYPOTHESES if d != self._best and not (d == -1 and self.open_loop)]
        margin = min(self._margin(d, robust=True) for d in rivals)
        agree = min(self._agreement(d) for d in rivals)
        return bool(margin > -np.log(1 - CLEAR) and agree >= AGREE and not self._smooth)

    @property
    def problem(self) -> str | None:
        """Why the delay cannot be determined; None if it can."""
        if not self.stretches:
            return self.unusable
        likely = LIKELY_OPEN if self.open_loop else LIKELY
        least = -np.log(1 - likely)
        if self._margin(None) < least:
            return "the inputs do not move the positions enough"
        if self._best == SEARCHED:
            return f"inputs that act {SEARCHED} samples late or more explain the motion best, and no more were compared"
        if self._margin(-1) < least and not self.open_loop:
            return "the inputs are computed from the positions, or logged one line late"
        if self.probabilities.max() < likely:
            rival = min((d for d in range(SEARCHED + 1) if d != self._best), key=self._margin)
            a, b = sorted((self._best, rival))
            return f"{a} and {b} samples explain the motion about equally well{self._why}"
        return None

    @property
    def sentence(self) -> str:
        """The delay in words, and how certain it is."""
        if self.logged_late:
            return (
                "-1, inputs seem to be logged one line late: the positions move before them; move them up by a line, "
                "unless a controller computed them from these positions"
            )
        if self.samples is None:
            return f"cannot be determined: {self.problem}"
        share = min(float(self.probabilities.max()), 0.99)
        return f"{count(self.samples, 'sample')}, {'clear' if self.clear else f'likely ({share:.0%})'}"

    @property
    def _sums(self) -> np.ndarray:
        return np.sum(self.stretches, axis=0) if self.stretches else np.empty(0)

    @property
    def _best(self) -> int:
        return int(np.argmax(self.log_evidence))

    @property
    def _smooth(self) -> bool:
        return self.freedom.new < SMOOTH

    @property
    def _why(self) -> str:
        if self._smooth:
            return ", because the inputs change slowly"
        return ", because the inputs are computed from the positions" if self.closed_loop else ""

    def _differences(self, rival: int | None) -> np.ndarray:
        """By how much each stretch favours the best delay."""
        logs = np.array(self.stretches)
        return logs[:, self._best] - logs[:, HYPOTHESES.index(rival)]

    def _margin(self, rival: int | None, robust: bool = False) -> float:
        """The log odds of the best delay; robust: those that remain without the stretch that favours it most."""
        differences = self._differences(rival)
        strongest = max(float(differences.max()), 0.0) if robust else 0.0
        return (float(differences.sum()) - strongest) * (TEMPERED if self.closed_loop else 1.0)

    def _agreement(self, rival: int | None) -> float:
        """The fraction of the stretches that favour the best delay, of those that favour one."""
        differences = self._differences(rival)
        telling = differences[np.abs(differences) > 1]
        return float(np.mean(telling > 0)) if len(telling) else 0.0


def find_delay(
    segments: Sequence[Segment],
    angles: tuple[bool, ...],
    used: Sequence[int],
    steps: Sequence[float],
    open_loop: bool = False,
) -> tuple[Delay, list[list[Evidence]]]:
    """Estimate the delay.

    Args:
        segments: Parts of recordings without gaps.
        angles: Which positions are angles.
        used: The indices of the positions that the delay is computed from.
        steps: The step of each position's sensor; 0 where it has none.
        open_loop: Whether the inputs are known not to depend on the measurements.

    Returns:
        The delay, and the evidence of the best one: a list per position, with an entry per segment.
    """
    parts = pieces(segments)
    stretches: dict[tuple[int, int], np.ndarray] = {}
    starts: list[tuple[Motion, int, Evidence]] = []
    with threadpool_limits(1, user_api="blas"):  # The matrices are small: threads would wait for each other.
        for number, (q, u) in enumerate(parts):
            precise = Motion.of(q, u, angles, open_loop=True)
            compared = precise if open_loop else Motion.of(q, u, angles, open_loop=False)
            for i in range(len(angles)):
                if np.std(np.diff(q[:, i], 2)) == 0:
                    continue
                start = evidence(precise, i, np.arange(len(q) - 1 - FIRST), range(SEARCHED + 2))
                starts.append((precise, i, start))
                if i in used:
                    _compare(compared, i, max(steps[i], start.noise), start, number, stretches)
        delay = Delay(
            tuple(tuple(logs.tolist()) for logs in stretches.values()),
            _freedom(parts),
            len(used),
            open_loop,
            "" if stretches else _unusable(parts, used, steps),
        )
        return delay, _errors(starts, delay, len(angles))


def _compare(
    motion: Motion,
    i: int,
    error: float,
    start: Evidence,
    piece: int,
    stretches: dict[tuple[int, int], np.ndarray],
) -> None:
    """Add the evidence of every hypothesis, where a position moves, to that of the others in the same stretch."""
    rows = np.flatnonzero(moving(motion.q[:, i], error))
    if len(rows) < LEAST_ROWS:
        return
    first = evidence(motion, i, rows, range(SEARCHED + 2), (start.scales,), 2 * REFINED)
    options = [evidence(motion, i, rows, _lags(d), (first.scales,), REFINED) for d in HYPOTHESES]
    for block in np.unique(rows // BLOCK).tolist():
        logs = np.array([option.logs[rows // BLOCK == block].sum() for option in options])
        stretches[piece, block] = stretches.get((piece, block), 0.0) + logs


def _errors(starts: Sequence[tuple[Motion, int, Evidence]], delay: Delay, positions: int) -> list[list[Evidence]]:
    """What is left of every position under the best delay, by the model that separates noise from motion best."""
    found: list[list[Evidence]] = [[] for _ in range(positions)]
    best = -1 if delay.logged_late else delay._best if delay.stretches else 0
    for motion, i, start in starts:
        rows = np.arange(len(motion.q) - 1 - FIRST)
        found[i].append(evidence(motion, i, rows, _lags(best), (start.scales,), 2 * REFINED))
    return found


def _lags(delay: int | None) -> tuple[int, ...]:
    if delay is None:
        return ()
    return (-1,) if delay < 0 else (delay, delay + 1)


def _freedom(parts: Sequence[Segment]) -> Freedom:
    """The medians over the parts."""
    each = [Freedom.of(q, u) for q, u in parts] or [Freedom()]
    return Freedom(float(np.median([f.new for f in each])), float(np.median([f.feedback for f in each])))


def _unusable(parts: Sequence[Segment], used: Sequence[int], steps: Sequence[float]) -> str:
    if not parts:
        return f"fewer than {LEAST_SAMPLES} consecutive samples were recorded"
    if any(np.ptp(q[:, i]) > 0 and steps[i] > 0 for q, _ in parts for i in used):
        return "the positions move by too few steps of their sensors"
    return "the positions move too little"
