"""Proof that an export does what the learned policy does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.described import Exported
from vfpilco.exports.targets import Target
from vfpilco.exports.text import DTYPES, Precision

HISTORIES = 10_000
ALLOWED: dict[Precision, float] = {"double": 1e-6, "float": 1e-4}
"""By how much the inputs may differ, as a share of u_max."""
ACTIVE, SATURATED = 0.05, 0.95
"""Inputs between these shares of u_max tell most: a tanh hides differences beyond."""
LEAST_ACTIVE = 0.5
"""At least this share of the histories must ask for more than that, for agreement to mean much."""
SLOWEST = 30.0
"""By how much histories are at most slowed down."""
AWAY, JITTER = 0.2, 0.5
"""How far histories are at most from those that were measured: of the spread, and of the changes per sample."""


class Report(NamedTuple):
    """What a check found; errors are shares of u_max."""

    histories: int
    error: float
    active: float
    """Share of the histories in which an input is more than 0.05 u_max."""
    telling: float
    """Share of the histories in which one is that, below 0.95 u_max and not held back by a slew limit: nothing hides a
    difference there."""
    held: float | None
    """Share of the histories in which an input would have changed faster than it may; None if it may at any rate."""
    trial_samples: int
    trial_error: float
    allowed: float
    step_seconds: float | None

    def sentences(self) -> list[str]:
        """What was found, for a person."""
        free, held = "", ""
        if self.held is not None:
            free, held = " and are free to change", f"; in {self.held:.0%} the slew limit holds one back"
        said = [
            "it agrees: the export and the learned policy were given the same positions, and gave the same inputs",
            f"a recorded trial of {self.trial_samples} samples: they differ by at most {self.trial_error:.1e} of u_max",
            f"{self.histories} histories around recorded ones: by at most {self.error:.1e}, and {self.allowed:.0e} is "
            "allowed",
            f"{self.active:.0%} of these ask for more than {ACTIVE:.0%} of u_max, {self.telling:.0%} also for less "
            f"than {SATURATED:.0%}{free}, where no limit hides a difference{held}",
        ]
        if self.held == 0:
            said.append("where the slew limit holds nothing back, agreement proves nothing of it")
        if self.active < LEAST_ACTIVE:
            said.append(f"fewer than {LEAST_ACTIVE:.0%} ask for that: where inputs are small, agreement proves little")
        if self.step_seconds is not None:
            said.append(f"a step takes {1e6 * self.step_seconds:.1f} µs on this machine")
        return said


def check(exported: Exported, target: Target, folder: Path, precision: Precision) -> Report:
    """Run the export in `folder` and the learned policy side by side; refuse one that differs."""
    own = exported.trials[-1]
    trials = [trial.astype(DTYPES[precision]).astype(float) for trial in [own, *histories(exported, HISTORIES)]]
    found = target.run(folder, trials)
    expected = [answers(exported, trial) for trial in trials]
    errors = [np.abs(u - due) / exported.limits for u, due in zip(found.inputs, expected, strict=True)]
    asked = np.abs(np.concatenate(expected[1:])) / exported.limits
    held = np.concatenate([held_back(exported, u) for u in expected[1:]])
    report = Report(
        len(asked),
        _largest(errors[1:]),
        float(np.mean(np.any(asked > ACTIVE, axis=1))),
        float(np.mean(np.any((asked > ACTIVE) & (asked < SATURATED) & ~held, axis=1))),
        None if exported.slew is None else float(np.mean(np.any(held, axis=1))),
        len(own),
        _largest(errors[:1]),
        ALLOWED[precision],
        found.step_seconds,
    )
    if not max(report.error, report.trial_error) <= report.allowed:
        raise UserError(
            f"The export differs from the learned policy by {max(report.error, report.trial_error):.1e} of u_max, more "
            f"than {report.allowed:.0e}: nothing was written."
        )
    return report


def _largest(errors: list[np.ndarray]) -> float:
    return float(np.max(np.concatenate(errors)))


def answers(exported: Exported, trial: np.ndarray) -> np.ndarray:
    """The inputs of the learned policy."""
    exported.policy.reset()
    return np.array([exported.policy(measured) for measured in trial])


def held_back(exported: Exported, inputs: np.ndarray) -> np.ndarray:
    """Which inputs of a trial changed by all that the slew limit allows."""
    if exported.slew is None:
        return np.zeros(inputs.shape, dtype=bool)
    return np.abs(np.diff(inputs, axis=0, prepend=np.zeros((1, inputs.shape[1])))) > exported.slew * (1 - 1e-9)


def histories(exported: Exported, samples: int) -> list[np.ndarray]:
    """Measured trials, moved aside and shaken, with so many samples together: every sample ends another history.

    In every second one angles wrap around, as those of many sensors do. Where the change of inputs is limited they are
    also slowed down by as much as it takes for some inputs to be as the policy wants them.
    """
    rng = np.random.default_rng(0)
    spread = np.concatenate(exported.trials).std(axis=0)
    change = np.concatenate([np.diff(trial, axis=0) for trial in exported.trials]).std(axis=0)
    turning = np.array(exported.memory.turning)
    made: list[np.ndarray] = []
    while missing := samples - sum(map(len, made)):
        trial = exported.trials[-1 - len(made) % len(exported.trials)]
        if exported.slew is not None:
            trial = slowed(trial, np.clip(np.max(exported.limits / exported.slew), 1, SLOWEST) ** rng.uniform())
        trial = trial[:missing]
        size = 10 ** rng.uniform(-3, 0)  # Policies with high gains saturate unless they are shaken little.
        aside, shaken = rng.normal(size=trial.shape[1]), rng.normal(size=trial.shape)
        moved = trial + size * (AWAY * spread * aside + JITTER * change * shaken)
        if len(made) % 2:
            moved = moved - 2 * np.pi * turning * np.round(moved / (2 * np.pi))
        made.append(moved)
    return made


def slowed(trial: np.ndarray, factor: float) -> np.ndarray:
    """The trial if all happened slower by this factor."""
    at = np.arange(0, len(trial) - 0.5, 1 / factor)
    return np.column_stack([np.interp(at, np.arange(len(trial)), column) for column in trial.T])
