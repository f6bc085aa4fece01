"""How far measurements scatter, compared with what is declared of their sensors.

The model of `vfpilco.recordings.motion` separates the errors of measurements from the motion. It is fitted twice: with
any noise, and with a noise close to the declared one. How much better the first explains the recording tells how
clearly the data disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from vfpilco.data.trial import Trial
from vfpilco.recordings.excitation import LEAST_SAMPLES, Segment, pieces
from vfpilco.recordings.motion import FIRST, NEGLIGIBLE, STARTS, Level, Motion, evidence
from vfpilco.recordings.quantisation import find_step
from vfpilco.tasks.machine import Machine

FACTOR = 3.0
"""A noise that differs from the declared one by less than this factor agrees with it."""
BY_CHANCE = 1e-6
"""The probability that all values lie by chance on a grid coarser than the declared one; less is no chance."""


@dataclass(frozen=True)
class Declared:
    """What is declared about the sensor of a position, in its unit."""

    std: float
    """Standard deviation of its errors; 0 if it has none."""
    step: float = 0.0
    """The step that it rounds to; 0 if it does not."""

    def agrees(self, std: float) -> bool:
        """Whether errors of that size are close to those declared."""
        return self.std / FACTOR <= std <= self.std * FACTOR

    def corrected(self, step: float) -> Declared:
        """The same, or rounding to the step that all values are multiples of if that cannot be the same."""
        rounding = step / float(np.sqrt(12))
        if rounding > self.std * FACTOR or (0 < rounding < self.std / FACTOR and self.step):
            return Declared(rounding, step)
        return self


@dataclass(frozen=True)
class Scatter:
    """How far the measurements of a position scatter, in its unit."""

    declared: Declared
    """What is declared; the step that was found if that is different."""
    noise: float
    """Standard deviation of the errors at rest, rounding included."""
    gain: float
    """Log evidence of this noise, in nats, relative to the best one close to the declared one; 0 if it is close."""

    @property
    def more(self) -> bool:
        """Whether there is more noise than declared."""
        return self.noise > self.declared.std


def scatters(
    trials: Sequence[Trial], machine: Machine, declared: Sequence[Declared], lags: Sequence[int]
) -> list[Scatter | None]:
    """How far the measurements of every position scatter; None where that is unknown.

    Args:
        trials: What was measured and applied.
        machine: What the positions and inputs are.
        declared: What is declared about every position.
        lags: How many samples late the inputs are that may have an effect.
    """
    parts = pieces([_segment(trial, machine) for trial in trials if len(trial.q) >= LEAST_SAMPLES])
    with threadpool_limits(1, user_api="blas"):  # The matrices are small: threads would wait for each other.
        motions = [Motion.of(q, u, machine.angles, open_loop=True) for q, u in parts]
        return [
            None if p.commanded is not None else _scatter(trials, motions, i, declared[i], lags)
            for i, p in enumerate(machine.positions)
        ]


def _segment(trial: Trial, machine: Machine) -> Segment:
    """Continuous positions, and an input for each."""
    q = np.where(machine.angles, np.unwrap(trial.q, axis=0), trial.q)
    return q, np.concatenate([trial.u, trial.u[-1:]])


def _scatter(
    trials: Sequence[Trial], motions: Sequence[Motion], i: int, declared: Declared, lags: Sequence[int]
) -> Scatter | None:
    moving = [motion for motion in motions if np.std(np.diff(motion.q[:, i], 2)) > 0]
    if not moving:
        return None
    step = _step(np.concatenate([trial.q[:, i] for trial in trials]), declared.step)
    corrected = declared.corrected(step)
    return Scatter(corrected, *_noise(moving, i, corrected, step, lags))


def _noise(
    motions: Sequence[Motion], i: int, declared: Declared, step: float, lags: Sequence[int]
) -> tuple[float, float]:
    """The noise of a position, and by how much its evidence exceeds that of any noise close to the declared one."""
    rows, std = [np.arange(len(motion.q) - 1 - FIRST) for motion in motions], declared.std
    free = [evidence(m, i, r, lags, level=Level(std)) for m, r in zip(motions, rows, strict=True)]
    # A machine that hardly leaves a step shows less noise than that of rounding.
    rounding = step / float(np.sqrt(12))
    noise = max(float(np.median([found.noise for found in free])), rounding)
    if declared.agrees(noise):
        return noise, 0.0
    noises, gain = [], 0.0
    for motion, r, first in zip(motions, rows, free, strict=True):
        second = np.diff(motion.q[FIRST - 1 :, i], 2).std()
        within = (std / FACTOR, std * FACTOR) if std else (0.0, second * float(np.exp(NEGLIGIBLE)))
        near = evidence(motion, i, r, lags, (first.scales, *STARTS), level=Level(std, within))
        again = evidence(motion, i, r, lags, (near.scales,), level=Level(std))
        best = min(first, again, key=lambda found: found.cost)
        noises.append(best.noise)
        gain += near.cost - best.cost
    return max(float(np.median(noises)), rounding), gain


def _step(values: np.ndarray, declared: float) -> float:
    """The step of a sensor; the declared one if few values lie by chance on a coarser grid."""
    found = find_step(values)
    if found is None:
        return 0.0
    distinct = len(np.unique(np.round(values / found.step)))
    coarser = found.step / declared if declared else np.inf
    by_chance = coarser > 1.5 and coarser ** (2.0 - distinct) > BY_CHANCE
    return declared if by_chance else found.step
