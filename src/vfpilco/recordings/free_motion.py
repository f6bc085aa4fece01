"""The motion of a position where nothing stops it: a linear model, and how well it predicts several samples ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from vfpilco.data.trial import Trial

FIRST = 2
"""The first sample whose past the model knows."""
AHEAD = 8
"""The most samples that it predicts ahead."""
ENOUGH = 10
"""The fewest predictions that show how large its errors are."""


@dataclass(frozen=True)
class FreeMotion:
    """The change of a position, linear in the last positions and inputs, fitted by least squares to free samples."""

    position: int
    weights: Float[np.ndarray, "terms"]

    @classmethod
    def of(cls, trials: Sequence[Trial], position: int, free: Sequence[Bool[np.ndarray, "samples"]]) -> FreeMotion:
        """The model of the steps from one free sample to the next.

        Args:
            trials: What was measured and applied.
            position: Which position.
            free: For each trial, at which samples nothing stops it.
        """
        rows, targets = [], []
        for trial, mask in zip(trials, free, strict=True):
            t = np.arange(FIRST, trial.steps)
            t = t[mask[t] & mask[t + 1]]
            rows.append(_terms(trial, t, _own(trial, position, t), position))
            targets.append(trial.q[t + 1, position] - trial.q[t, position])
        x, y = np.concatenate(rows), np.concatenate(targets)
        size = np.sqrt(np.mean(x**2, axis=0)) + 1e-12 if len(x) else np.ones(x.shape[1])
        scaled = x / size
        gram = scaled.T @ scaled + 1e-6 * (len(x) + 1) * np.eye(len(size))
        return cls(position, np.linalg.solve(gram, scaled.T @ y) / size)

    def ahead(self, trial: Trial, t: np.ndarray, steps: int) -> Float[np.ndarray, "steps starts"]:
        """Where the position is 1 … `steps` samples after the samples `t`; all else is as measured."""
        own, found = _own(trial, self.position, t), []
        for k in range(steps):
            change = _terms(trial, t + k, own, self.position) @ self.weights
            own = np.stack([own[:, 0] + change, own[:, 0], own[:, 1]], axis=1)
            found.append(own[:, 0])
        return np.array(found)

    def above(self, trial: Trial, t: np.ndarray, steps: int) -> Float[np.ndarray, "steps starts"]:
        """How far above the measured position the predicted one is, likewise."""
        measured = trial.q[t[None] + 1 + np.arange(steps)[:, None], self.position]
        return self.ahead(trial, t, steps) - measured

    def largest_errors(
        self, trials: Sequence[Trial], free: Sequence[Bool[np.ndarray, "samples"]]
    ) -> Float[np.ndarray, "steps"]:
        """The largest error 1 … `AHEAD` samples ahead between free samples; infinite where there are too few."""
        errors: list[list[np.ndarray]] = [[] for _ in range(AHEAD)]
        for trial, mask in zip(trials, free, strict=True):
            for k in range(AHEAD):
                starts = np.arange(FIRST, trial.steps - k)
                starts = starts[np.all([mask[starts + j] for j in range(k + 2)], axis=0)]
                errors[k].append(np.abs(self.above(trial, starts, k + 1)[-1]))
        found = [np.concatenate(each) for each in errors]
        return np.array([each.max() if len(each) >= ENOUGH else np.inf for each in found])


def _own(trial: Trial, i: int, t: np.ndarray) -> np.ndarray:
    """A position at the samples `t` and the two before, (starts, 3)."""
    return trial.q[t[:, None] - np.arange(3), i]


def _terms(trial: Trial, t: np.ndarray, own: np.ndarray, position: int) -> np.ndarray:
    """What a change may depend on, with these last values of a position."""
    q = trial.q[t[:, None] - np.arange(3)]
    q[:, :, position] = own
    u = trial.u
    past = [np.ones((len(t), 1)), q[:, 0], q[:, 0] - q[:, 1], q[:, 1] - q[:, 2], u[t], u[t - 1]]
    return np.concatenate(past, axis=1)
