"""What is learned: a state representation with a prior mean and a noise model, and the training set they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.model.banded import block_diagonal, select
from vfpilco.model.noise import NoiseModel
from vfpilco.model.prior_mean import PriorMean
from vfpilco.recordings.stops import Stops
from vfpilco.state.base import State
from vfpilco.state.sound import sound
from vfpilco.tasks.sensors import Sensor, std_at_rest


class TrainingSet(NamedTuple):
    """GP inputs x̃, targets and prior means, row by row; a column for every position that a GP predicts."""

    x: Float[np.ndarray, "N d_x"]
    y: Float[np.ndarray, "N J"]
    prior: Float[np.ndarray, "N J"]
    noise: Float[np.ndarray, "C diagonals N"] | None = None
    """The covariance of the noise of the targets, up to a factor, by its diagonals: a matrix for each column of `y`, or
    one for all; None: every target has noise of its own."""
    capacity: int = 0
    """The size that it grows to in the course of a run: arrays are padded to it, so that nothing is compiled again."""

    @property
    def rows(self) -> int:
        """The size that arrays are padded to."""
        return max(self.capacity, len(self.x))

    @staticmethod
    def join(parts: Sequence[TrainingSet], capacity: int = 0) -> TrainingSet:
        """The pairs of all trials in one set; trials share no measurements."""
        noise = [part.noise for part in parts if part.noise is not None]
        x, y, prior = (np.concatenate(column) for column in zip(*(part[:3] for part in parts), strict=True))
        return TrainingSet(x, y, prior, block_diagonal(noise) if noise else None, capacity)

    def at(self, rows: np.ndarray) -> TrainingSet:
        """The pairs with these ascending indices, and the noise that they share."""
        noise = None if self.noise is None else select(self.noise, rows)
        return TrainingSet(self.x[rows], self.y[rows], self.prior[rows], noise, self.rows)


@dataclass(frozen=True)
class Dynamics:
    """How GPs see the machine: the state they predict from, what they expect, and what noise they assume."""

    state: State
    """The state representation, bound to the machine."""
    prior_mean: PriorMean
    noise: NoiseModel
    sensor: Sensor
    stops: Stops | None = None
    """The end stops of the machine, for states whose GPs predict the change of positions; None if it has none."""
    reach: tuple[float, ...] | None = None
    """How far from zero particles may move, for such states: where a model is unstable, numbers become too large."""

    def mean(self, x: Any, u: Any) -> Any:
        """The change that is expected before seeing data."""
        return self.prior_mean.mean(self.state, x, u)

    def advance(self, x: Any, u: Any, change: Any) -> Any:
        """The state after a predicted change, which no end stop lets through.

        The gradient is that of the free motion: at a stop no small change of an input moves anything, and a policy that
        pushes against it would never learn to push less. Out of reach nothing moves, and the gradient is zero.
        """
        predicted = self.state.signals.predicted
        if self.reach is not None:
            xp, q = change.__array_namespace__(), self.state.positions(x)[..., predicted]
            most = xp.asarray(np.asarray(self.reach)[predicted], dtype=change.dtype)
            change = xp.clip(change, -most - q, most - q)
        if self.stops is not None:
            limited = self.stops.at(predicted).limited(self.state.positions(x)[..., predicted], change)
            change = change + jax.lax.stop_gradient(limited - change) if isinstance(change, jax.Array) else limited
        return self.state.advance(x, u, change)

    def training_set(self, trial: Trial, since: int = 0) -> TrainingSet:
        """GP inputs and targets of one trial from the sample `since` on.

        A motion that an end stop cut short is left out, which says nothing about the free one, and so are states with a
        spike of the sensor in them.
        """
        pairs = self.state.pairs(trial)
        weights, noise = self.state.error_weights(self.prior_mean.rate_gain), None
        if weights is not None:
            predicted = self.state.signals.predicted
            std = self.sensor.error_std(trial.q)
            std = None if std is None else std[..., predicted]
            noise = self.noise.covariance(weights, pairs.t, trial.q[:, predicted], std)
        x = self.state.gp_input(pairs.state, pairs.u)
        data = TrainingSet(x, pairs.change, self.mean(pairs.state, pairs.u), noise)
        kept = (pairs.t >= since) & sound(self.state, trial, pairs.t)
        if self.stops is not None:
            kept &= ~self.stops.reached(trial.q[pairs.t + 1]).any(1)
        return data if kept.all() else data.at(np.flatnonzero(kept))

    def training_sets(self, trials: Sequence[Trial], capacity: int = 0, since: int = 0) -> TrainingSet:
        """The training set of several trials, each from the sample `since` on, to grow to `capacity` rows."""
        data = TrainingSet.join([self.training_set(trial, since) for trial in trials], capacity)
        if not len(data.x):
            raise UserError(
                "All trials so far ended within a few samples: nothing can be learned from them. Explore more gently, "
                "or end a trial later."
            )
        return data

    def least_noise(self) -> list[float] | None:
        """The least noise of every GP's targets; None if the sensor's error is unknown."""
        std = std_at_rest(self.sensor, self.state.signals.d_q)
        if not std:
            return None
        weights = self.state.error_weights(self.prior_mean.rate_gain)
        factor = 1.0 if weights is None else self.noise.least_noise(weights)
        return [factor * least for least in self.state.least_noise(std)]
