"""What is exported: a learned policy, the names of its measurements and inputs, and where it was learned."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.exports.origin import Origin, origin_of
from vfpilco.exports.prefix import DEFAULT
from vfpilco.policy.layers import Basis, Chains, Dense
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.state.memory import Memory
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.machine import Input, Position


class Quantity(NamedTuple):
    """Something that is measured or applied."""

    name: str
    unit: str


@dataclass(frozen=True)
class Exported:
    """A learned policy with everything that another program, and its reader, need to know."""

    policy: LearnedPolicy
    positions: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    sampling_time: float
    origin: Origin
    """Where it was learned."""
    trials: tuple[np.ndarray, ...]
    """The measurements of the run's executions, (samples, measures) each; the policy's own, if it has one, is last."""
    prefix: str = DEFAULT
    """What the names in a C program start with."""

    @cached_property
    def memory(self) -> Memory:
        """What is remembered, and how x* is computed from it."""
        state = self.policy.state
        memory = getattr(state, "exported_memory", _nothing)()
        if not isinstance(memory, Memory):
            raise _not_exportable(state, "a state", "exported_memory", "vfpilco.state.memory.Memory")
        return memory

    @cached_property
    def chains(self) -> Chains:
        """How the inputs are computed from x*."""
        policy = self.policy.policy
        params = {name: value.astype(np.float64) for name, value in self.policy.params.items()}
        chains = getattr(policy, "layers", _nothing)(params)
        if not isinstance(chains, list) or {type(layer) for chain in chains for layer in chain} - {Basis, Dense}:
            raise _not_exportable(policy, "a policy", "layers", "chains of Basis and Dense of vfpilco.policy.layers")
        return chains

    @property
    def limits(self) -> np.ndarray:
        """u_max of every input."""
        return np.asarray(self.policy.policy.inputs.limits, dtype=float)

    @property
    def slew(self) -> np.ndarray | None:
        """The largest change of every input from one sample to the next; None if it is not limited."""
        return None if self.policy.slew is None else np.asarray(self.policy.slew.most, dtype=float)

    @property
    def kept_inputs(self) -> int:
        """How many past inputs are remembered: those that the policy sees, and the last ones for a slew limit."""
        return max(self.memory.past_inputs, int(self.slew is not None))

    @property
    def reference(self) -> np.ndarray | None:
        """The positions to follow, sample by sample."""
        return self.policy.reference

    @property
    def measures(self) -> tuple[Quantity, ...]:
        """What is measured: positions, and for a policy of the full state also their velocities."""
        velocities = tuple(Quantity(f"velocity of {p.name}", f"{p.unit}/s") for p in self.positions)
        return self.positions + velocities * self.policy.state.full_state

    @property
    def entries(self) -> int:
        """The length of x*, with the errors from a reference."""
        return len(self.memory.entries) + (0 if self.reference is None else len(self.positions))

    def arrays(self) -> Iterable[np.ndarray]:
        """Every number that the exported program will contain."""
        yield self.limits
        yield from (self.memory.a, self.memory.b)
        yield from (array for array in (self.slew, self.reference) if array is not None)
        for layer in itertools.chain(*self.chains):
            yield from layer.arrays.values()

    def check(self) -> None:
        """Raise a `UserError` if the exported program could not keep its promises."""
        if not all(np.all(np.isfinite(array)) for array in [np.array(self.sampling_time), *self.arrays()]):
            raise UserError("The policy has values that are not finite: export that of another trial.")
        bounds = [self.limits, np.array(self.sampling_time), *([] if self.slew is None else [self.slew])]
        if not all(np.all(bound > 0) for bound in bounds):
            raise UserError("The limits of the inputs and the sampling time must be positive: export another run.")
        memory, d_u = self.memory, len(self.inputs)
        fits = [len(self.measures) == memory.columns, self.limits.shape == (d_u,)]
        fits += [memory.a.shape == (memory.columns, memory.filters, memory.filters)]
        seen = [entry for entry in memory.entries if entry.applied]
        fits += [0 <= entry.row < memory.past_inputs and 0 <= entry.column < d_u for entry in seen]
        fits += [self.slew is None or self.slew.shape == (d_u,)]
        fits += [self.reference is None or self.reference.shape[1:] == (len(self.positions),)]
        for chain in self.chains:
            sizes = [self.entries, *itertools.chain(*(layer.sizes for layer in chain)), d_u]
            fits += [given == due for given, due in zip(sizes[::2], sizes[1::2], strict=True)]
        if not all(fits):
            raise UserError("The policy does not fit the positions and inputs of its run: export another run.")


def _nothing(*_: object) -> None:
    """The result of a method that a class does not have."""


def _not_exportable(part: object, kind: str, method: str, due: str) -> UserError:
    return UserError(
        f"{type(part).__name__} is {kind} that cannot be exported: give the class a method `{method}` that returns "
        f"{due}, or use the policy in Python with LearnedPolicy."
    )


def describe(folder: RunFolder, trial: int | None = None, prefix: str = DEFAULT) -> Exported:
    """What is exported of a run: the policy of a trial, or the last one.

    Args:
        folder: The run folder.
        trial: The trial; the last one with a policy if not given.
        prefix: What the names in a C program start with.

    Raises:
        UserError: If there is no such policy, or it cannot be exported.
    """
    header, known = folder.header(), folder.policies()
    if trial is None and not known:
        raise UserError(f"{folder.path} has no policy yet: learn one first.")
    trial = known[-1] if trial is None else trial
    policy, task = folder.policy(trial), header.task
    try:
        exported = Exported(
            policy,
            _quantities(task.positions),
            _quantities(task.inputs),
            float(task.sampling_time),
            origin_of(folder.path, header, trial),
            tuple(_measurements(folder, policy, trial)),
            prefix,
        )
        exported.check()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(f"{folder.path} does not contain a run of this version ({error}).") from error
    return exported


def _quantities(described: Iterable[Position | Input]) -> tuple[Quantity, ...]:
    return tuple(Quantity(one.name, one.unit) for one in described)


def _measurements(folder: RunFolder, policy: LearnedPolicy, trial: int) -> list[np.ndarray]:
    """What a controller received in every execution, that of this trial last."""
    rows, state = folder.results(), policy.state
    order = sorted(range(len(rows)), key=lambda i: (rows[i].trial == trial, i))
    trials = [folder.trial(i, state.signals.d_q) for i in order]
    if not trials:
        raise UserError(f"{folder.path} has no execution to test the policy on: finish one first.")
    return [_received(one, full_state=state.full_state) for one in trials]


def _received(trial: Trial, *, full_state: bool) -> np.ndarray:
    if not full_state:
        return trial.q
    if trial.true is None or trial.velocity is None:
        raise UserError("The executions of the run do not contain the full state that its policy needs.")
    return np.concatenate([trial.true, trial.velocity], axis=1)
