"""Evidence that an export computes what the learned policy computes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports import numpy_file, runners
from vfpilco.exports.exported import Exported
from vfpilco.exports.targets import Target
from vfpilco.exports.text import DTYPES, Precision
from vfpilco.policy.learned import COMPONENTS

HISTORIES = 10_000
ALLOWED: dict[Precision, float] = {"double": 1e-6, "float": 1e-4}
"""The largest difference of the inputs that is allowed, as a fraction of u_max."""
ACTIVE, SATURATED = 0.05, 0.95
"""Inputs between these fractions of u_max are most informative: beyond, the tanh hides differences."""
LEAST_ACTIVE = 0.5
"""The fraction of the histories whose inputs must exceed ACTIVE for agreement to mean much."""
SLOWEST = 30.0
"""The largest factor by which histories are slowed down."""
OFFSET, NOISE = 0.2, 0.5
"""How far histories are from measured ones at most: relative to the spread, and to the changes per sample."""


class Report(NamedTuple):
    """The result of a check; errors are fractions of u_max."""

    histories: int
    error: float
    """The largest difference on the histories."""
    active: float
    """Fraction of the histories in which an input exceeds 0.05 u_max."""
    informative: float
    """Fraction of the histories in which one is also below 0.95 u_max and not slew-limited: nothing hides a difference
    there."""
    held: float | None
    """Fraction of the histories in which the slew limit is active; None if there is no slew limit."""
    trial_samples: int
    trial_error: float
    """The largest difference on the recorded trial."""
    allowed: float
    step_seconds: float | None
    """The duration of a step, if it was measured."""

    def sentences(self) -> list[str]:
        """The result in words."""
        free, held = "", ""
        if self.held is not None:
            free, held = " and not slew-limited", f"; in {self.held:.0%} the slew limit is active"
        sentences = [
            "the export agrees with the learned policy: for the same positions both return the same inputs",
            f"on a recorded trial of {self.trial_samples} samples they differ by at most {self.trial_error:.1e} u_max",
            f"on {self.histories} histories similar to recorded ones they differ by at most {self.error:.1e} u_max; "
            f"{self.allowed:.0e} u_max is allowed",
            f"in {self.active:.0%} of the histories an input exceeds {ACTIVE:.0%} of u_max; in {self.informative:.0%} "
            f"it is also below {SATURATED:.0%}{free}, where no limit hides a difference{held}",
        ]
        if self.held == 0:
            sentences.append("the slew limit was never active: this check proves nothing about it")
        if self.active < LEAST_ACTIVE:
            sentences.append(
                f"inputs exceed {ACTIVE:.0%} in less than {LEAST_ACTIVE:.0%} of the histories: agreement proves little "
                "where inputs are small"
            )
        if self.step_seconds is not None:
            sentences.append(f"a step takes {1e6 * self.step_seconds:.1f} µs on this computer")
        return sentences


def check(exported: Exported, target: Target, folder: Path, precision: Precision) -> Report:
    """Run the export in `folder` and the learned policy on the same histories.

    Raises:
        UserError: If they differ by more than is allowed.
    """
    own = exported.trials[-1]
    trials = [trial.astype(DTYPES[precision]).astype(float) for trial in [own, *histories(exported, HISTORIES)]]
    found = target.run(folder, trials)
    expected = [answers(exported, trial, u) for trial, u in zip(trials, found.inputs, strict=True)]
    errors = [np.abs(u - due) / exported.limits for u, due in zip(found.inputs, expected, strict=True)]
    used = np.abs(np.concatenate(expected[1:])) / exported.limits
    applied = found.inputs if exported.memory.past_inputs else expected
    held = np.concatenate([slew_limited(exported, *each) for each in zip(expected[1:], applied[1:], strict=True)])
    report = Report(
        len(used),
        _largest(errors[1:]),
        float(np.mean(np.any(used > ACTIVE, axis=1))),
        float(np.mean(np.any((used > ACTIVE) & (used < SATURATED) & ~held, axis=1))),
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


def check_components(exported: Exported) -> None:
    """Raise a `UserError` if a state or policy of the user's own describes itself wrongly for export.

    A subclass may inherit `exported_memory` or `layers` although it computes something else.
    """
    parts = {"exported_memory": exported.policy.state, "layers": exported.policy.policy}
    own = {method: type(part) for method, part in parts.items() if type(part) not in COMPONENTS.values()}
    if not own:
        return
    trial = exported.trials[-1]
    (found,) = runners.run_source(numpy_file.files(exported)["policy.py"], [trial]).inputs
    error = _largest([np.abs(found - answers(exported, trial, found)) / exported.limits])
    if not error <= ALLOWED["double"]:
        methods = " or ".join(f"`{method}` of {cls.__name__}" for method, cls in own.items())
        raise UserError(
            f"The policy cannot be exported, because the export would differ from it by {error:.1e} of u_max: make "
            f"{methods} return what the class computes, or use the policy in Python with LearnedPolicy."
        )


def answers(exported: Exported, trial: np.ndarray, applied: np.ndarray | None = None) -> np.ndarray:
    """The inputs of the learned policy; one that sees past inputs sees its own, or those that were `applied`.

    An export is compared with what the learned policy computes from the export's own past inputs: a rounding error
    would otherwise be fed back with every sample and could grow, although every step is right.
    """
    return exported.policy.replay(trial, applied)


def slew_limited(exported: Exported, inputs: np.ndarray, applied: np.ndarray | None = None) -> np.ndarray:
    """Which inputs of a trial changed by as much as the slew limit allows, from those that were applied before."""
    if exported.slew is None:
        return np.zeros(inputs.shape, dtype=bool)
    before = np.concatenate([np.zeros((1, inputs.shape[1])), (inputs if applied is None else applied)[:-1]])
    return np.abs(inputs - before) > exported.slew * (1 - 1e-9)


def histories(exported: Exported, samples: int) -> list[np.ndarray]:
    """Measured trials with an offset and noise added, with `samples` samples in total: each sample ends a history.

    In every second one angles wrap, as those of many sensors do. For a policy with a slew limit they are also slowed
    down, so that the limit is active in some and inactive in others.
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
        size = 10 ** rng.uniform(-3, 0)  # Policies with high gains saturate unless the changes are small.
        offset, noise = rng.normal(size=trial.shape[1]), rng.normal(size=trial.shape)
        moved = trial + size * (OFFSET * spread * offset + NOISE * change * noise)
        if len(made) % 2:
            moved = moved - 2 * np.pi * turning * np.round(moved / (2 * np.pi))
        made.append(moved)
    return made


def slowed(trial: np.ndarray, factor: float) -> np.ndarray:
    """The trial if everything happened slower by this factor."""
    at = np.arange(0, len(trial) - 0.5, 1 / factor)
    return np.column_stack([np.interp(at, np.arange(len(trial)), column) for column in trial.T])
