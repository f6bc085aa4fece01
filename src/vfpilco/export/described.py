"""What is exported: a learned policy, what its numbers are called, and where it comes from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.memory import Memory
from vfpilco.policies.layers import Chains
from vfpilco.runfolder import RunFolder
from vfpilco.settings import Settings
from vfpilco.trial import Trial


class Quantity(NamedTuple):
    """A number that is measured or applied."""

    name: str
    unit: str


@dataclass(frozen=True)
class Exported:
    """A learned policy with all that a program elsewhere, and its reader, have to know."""

    policy: LearnedPolicy
    positions: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    sampling_time: float
    learned: dict[str, Any]
    """Where it was learned: run, trial, task, seed, versions, settings."""
    trials: tuple[np.ndarray, ...]
    """What was measured in the run's executions, (samples, measures) each; the policy's own, if it has one, is last."""

    @cached_property
    def memory(self) -> Memory:
        """What is remembered, and how x* is made of it."""
        return self.policy.representation.remembered()

    @cached_property
    def chains(self) -> Chains:
        """What is made of x*."""
        params = {name: value.astype(np.float64) for name, value in self.policy.params.items()}
        return self.policy.policy.layers(params)

    @property
    def limits(self) -> np.ndarray:
        """u_max of every input."""
        return np.asarray(self.policy.policy.limits, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def slew(self) -> np.ndarray | None:
        """By how much every input may change from one sample to the next, if that is limited."""
        return None if self.policy.slew is None else np.asarray(self.policy.slew.most, dtype=float)

    @property
    def reference(self) -> np.ndarray | None:
        """The positions to be followed, sample by sample."""
        return self.policy.reference

    @property
    def measures(self) -> tuple[Quantity, ...]:
        """What is measured: positions, and for a policy of the full state their velocities too."""
        velocities = tuple(Quantity(f"velocity of {p.name}", f"{p.unit}/s") for p in self.positions)
        return self.positions + velocities * self.policy.representation.full_state

    @property
    def entries(self) -> int:
        """The length of x*, errors from a reference included."""
        return len(self.memory.entries) + (0 if self.reference is None else len(self.positions))

    def arrays(self) -> Iterable[np.ndarray]:
        """Every number that the exported program will hold."""
        yield self.limits
        yield from (self.memory.a, self.memory.b)
        yield from (array for array in (self.slew, self.reference) if array is not None)
        for layer in itertools.chain(*self.chains):
            yield from layer.arrays.values()

    def check(self) -> None:
        """Refuse what would not be a program that keeps its promises."""
        if not all(np.all(np.isfinite(array)) for array in [np.array(self.sampling_time), *self.arrays()]):
            raise UserError("The policy holds values that are not finite: export that of another trial.")
        bounds = [self.limits, np.array(self.sampling_time), *([] if self.slew is None else [self.slew])]
        if not all(np.all(bound > 0) for bound in bounds):
            raise UserError("The limits of the inputs and the sampling time must be positive: export another run.")
        memory, d_u = self.memory, len(self.inputs)
        fits = [len(self.measures) == memory.columns, self.limits.shape == (d_u,)]
        fits += [memory.a.shape == (memory.columns, memory.filters, memory.filters)]
        fits += [self.slew is None or self.slew.shape == (d_u,)]
        fits += [self.reference is None or self.reference.shape[1:] == (len(self.positions),)]
        for chain in self.chains:
            sizes = [self.entries, *itertools.chain(*(layer.sizes for layer in chain)), d_u]
            fits += [given == due for given, due in zip(sizes[::2], sizes[1::2], strict=True)]
        if not all(fits):
            raise UserError("The policy does not fit the positions and inputs of its run: export another run.")


def describe(folder: RunFolder, trial: int | None = None) -> Exported:
    """What is to be exported of a run: the policy of a trial, or the last one."""
    header, known = folder.header(), folder.policies()
    if trial is None and not known:
        raise UserError(f"{folder.path} has no policy yet: learn one first.")
    trial = known[-1] if trial is None else trial
    policy = folder.policy(trial)
    try:
        task = header["task"]
        exported = Exported(
            policy,
            _quantities(task["positions"]),
            _quantities(task["inputs"]),
            float(task["sampling_time"]),
            _learned(folder, header, trial),
            tuple(_measured(folder, policy, trial)),
        )
        exported.check()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UserError(f"{folder.path} does not describe a run of this version ({error}).") from error
    return exported


def _quantities(described: list[dict[str, Any]]) -> tuple[Quantity, ...]:
    return tuple(Quantity(str(one["name"]), str(one["unit"])) for one in described)


def _learned(folder: RunFolder, header: dict[str, Any], trial: int) -> dict[str, Any]:
    known, plain = header["settings"], (str, int, float)
    settings = {f.name: known[f.name] for f in fields(Settings) if isinstance(known.get(f.name), plain)}
    return {
        "run": str(folder.path),
        "trial": trial,
        "task": header["task"]["name"],
        "seed": int(header["seed"]),
        "versions": {str(name): str(version) for name, version in header["versions"].items()},
        "settings": settings,
    }


def _measured(folder: RunFolder, policy: LearnedPolicy, trial: int) -> list[np.ndarray]:
    """What a controller was given in every execution, that of this trial last."""
    rows = folder.results()
    order = sorted(range(len(rows)), key=lambda i: (rows[i].get("trial") == trial, i))
    trials = [folder.trial(i, policy.representation.d_q) for i in order]
    if not trials:
        raise UserError(f"{folder.path} has no execution to try the policy on: let it finish one.")
    return [_seen(one, full_state=policy.representation.full_state) for one in trials]


def _seen(trial: Trial, *, full_state: bool) -> np.ndarray:
    if not full_state:
        return trial.q
    if trial.true is None or trial.velocity is None:
        raise UserError("The executions of the run do not tell the full state that its policy needs.")
    return np.concatenate([trial.true, trial.velocity], axis=1)
