"""The learned policy as it runs on the machine: called with measured positions, it keeps its own window."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from vfpilco.common.components import classes, describe, rebuild
from vfpilco.common.errors import DATA_ERRORS, UserError
from vfpilco.common.files import Damaged, read_arrays, write_arrays
from vfpilco.common.text import count
from vfpilco.data.trial import unwrap
from vfpilco.policy.base import BoundPolicy, Params, Policy, PolicyInputs
from vfpilco.policy.format3 import policy_of_format_3
from vfpilco.policy.limits import Slew
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF, PhysicalRBF
from vfpilco.state.base import Signals, State
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree

COMPONENTS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(RBF, LinearRBF, PhysicalRBF, MLP, PolicyInputs, VelocityFree, Filtered, FullState),
        *(LowPass, Kalman, Signals, Slew),
    )
}
"""The classes that a policy file may name."""
LARGEST = 1e30
"""What the parameters of a policy file are below, so that float32 can hold them."""


class LearnedPolicy:
    """A learned policy as it runs on the machine: plain NumPy in float64, no JAX.

    Call `reset()` before the first sample of a trial, then call the policy once per sample with the measured
    positions. A policy that follows a `reference` moves on to its next row with every sample and stays at the last
    one. With a `slew` limit inputs change no faster than that. A policy that sees past inputs sees those that it
    returned, or those passed to `actual`.

    Example:
        >>> policy = LearnedPolicy.load("runs/first/policy.safetensors")  # doctest: +SKIP
        >>> policy.reset()  # doctest: +SKIP
        >>> policy([0.0, 0.0])  # doctest: +SKIP
        array([-1.69])
    """

    def __init__(
        self,
        state: State,
        policy: Policy,
        params: Params,
        reference: np.ndarray | None = None,
        slew: Slew | None = None,
    ) -> None:
        self.state, self.policy, self.slew = state, policy, slew
        self.reference = None if reference is None else np.asarray(reference, dtype=np.float64)
        self.params = {name: np.asarray(value) for name, value in params.items()}
        self._exact = {name: value.astype(np.float64) for name, value in self.params.items()}
        self._last: np.ndarray | None = None
        self._memory: Any = None
        self._samples = 0
        self._before: np.ndarray | None = None

    def __repr__(self) -> str:
        signals, numbers = self.state.signals, sum(value.size for value in self.params.values())
        follows = "" if self.reference is None else ", follows a reference"
        kind = f"{type(self.policy).__name__} of {count(numbers, 'parameter')}"
        sizes = f"{count(signals.d_q, 'position')} to {count(signals.d_u, 'input')}"
        return f"LearnedPolicy({kind}, {sizes}, {type(self.state).__name__}{follows})"

    def reset(self) -> None:
        """Forget the positions seen so far: the next one is taken as the start, at rest."""
        self._last = self._memory = self._before = None
        self._samples = 0

    @property
    def measures(self) -> int:
        """How many numbers are to be given: the positions, and for a policy of the full state also their velocities."""
        return self.state.signals.d_q * (2 if self.state.full_state else 1)

    @property
    def sees_inputs(self) -> bool:
        """Whether past inputs are part of what the policy sees."""
        return "input" in self.state.policy_kinds()

    def __call__(self, measured: ArrayLike) -> Float[np.ndarray, "d_u"]:
        """The inputs to apply now that these positions have been measured."""
        measured = np.asarray(measured, dtype=np.float64)
        if measured.shape != (self.measures,):
            raise UserError(f"A policy of {self.measures} measurements was given an array of shape {measured.shape}.")
        if self._last is None:
            self._memory = self.state.begin(measured)
        else:
            turning = self.state.signals.angles + (False,) * (self.measures - self.state.signals.d_q)
            measured = unwrap(measured, self._last, turning)
            self._memory = self.state.push(self._memory, measured, self._before)
        self._last = measured
        x = self.state.policy_input(self._memory)
        if self.reference is not None:
            goal = self.reference[min(self._samples, len(self.reference) - 1)]
            x = np.concatenate([x, goal - measured[: self.state.signals.d_q]])
        self._samples += 1
        u = self.policy(self._exact, x)
        if self.slew is not None:
            u = self.slew(u, np.zeros_like(u) if self._before is None else self._before)
        self._before = u.copy()
        return u

    def actual(self, applied: ArrayLike) -> None:
        """Replace the inputs that were returned last by those that the machine applied, where these differ.

        The next inputs follow from what was applied: past inputs that the policy sees, and the slew limit.
        """
        applied = np.array(applied, dtype=np.float64)
        if applied.shape != (self.state.signals.d_u,) or not np.all(np.isfinite(applied)):
            raise UserError(f"{self.state.signals.d_u} finite inputs were expected, got {applied.tolist()}.")
        self._before = applied

    def replay(
        self, measured: Float[np.ndarray, "samples d"], applied: Float[np.ndarray, "samples d_u"] | None = None
    ) -> Float[np.ndarray, "samples d_u"]:
        """The inputs that it computes in a recorded trial; it is reset before and after.

        Args:
            measured: The measurements, sample by sample.
            applied: The inputs that were applied on them, for a policy that sees past inputs; where they are not given
                or not finite it sees those that it computes.
        """
        self.reset()
        computed, known = [], applied if self.sees_inputs else None
        for i, z in enumerate(measured):
            computed.append(self(z))
            if known is not None and np.all(np.isfinite(known[i])):
                self.actual(known[i])
        self.reset()
        return np.array(computed)

    def after(
        self,
        histories: Float[np.ndarray, "N samples d"],
        sample: int = 0,
        applied: Float[np.ndarray, "steps d_u"] | None = None,
    ) -> Float[np.ndarray, "N d_u"]:
        """The inputs after each of N histories of measurements with unwrapped angles; independent of `reset()`.

        A policy that follows a reference uses the row of `sample`. The slew limit is not applied.

        Args:
            histories: Measurements.
            sample: The sample of the last measurement.
            applied: The inputs between the measurements, the same in all histories; zeros if not given. They matter
                if the policy sees past inputs.
        """
        memory, d_u = self.state.begin(histories[:, 0]), self.state.signals.d_u
        between = np.zeros((histories.shape[1] - 1, d_u)) if applied is None else applied
        for measured, u in zip(histories[:, 1:].swapaxes(0, 1), between, strict=True):
            memory = self.state.push(memory, measured, np.broadcast_to(u, (len(measured), d_u)))
        x = self.state.policy_input(memory)
        if self.reference is not None:
            goal = self.reference[min(sample, len(self.reference) - 1)]
            x = np.concatenate([x, goal - histories[:, -1, : self.state.signals.d_q]], axis=-1)
        return self.policy(self._exact, x)

    def save(self, path: str | Path) -> None:
        """Write the policy to one safetensors file: its arrays, and as metadata what is needed to rebuild it."""
        state = dataclasses.replace(self.state, bound=self.state.signals.for_policy)  # pyright: ignore
        description = {"state": describe(state), "policy": describe(self.policy), "slew": describe(self.slew)}
        arrays = dict(self.params) if self.reference is None else {**self.params, "reference": self.reference}
        write_arrays(Path(path), arrays, {"vfpilco_policy": description})

    @staticmethod
    def load(path: str | Path, *components: Any) -> LearnedPolicy:
        """Read a policy written by `save`.

        Args:
            path: The file.
            components: If the policy or the state is of a class of your own, an object of that class.

        Raises:
            UserError: If there is no such file, if it is damaged, or if it names an unknown class.
        """
        try:
            params, about = read_arrays(Path(path))
            loaded = _rebuilt(params, about["vfpilco_policy"], {**COMPONENTS, **classes(*components)})
            _check(loaded)
        except FileNotFoundError as error:
            raise UserError(f"There is no policy file {path}: learn one first.") from error
        except Damaged:
            raise
        except DATA_ERRORS as error:
            raise Damaged(f"{path} is not a policy of vfpilco or is damaged ({error})") from error
        except UserError as error:
            raise UserError(f"{path} cannot be used: {error}") from error
        loaded.reset()
        return loaded


def _rebuilt(params: Params, description: dict[str, Any], known: Mapping[str, type]) -> LearnedPolicy:
    reference = params.pop("reference", None)
    if "representation" in description:
        description = policy_of_format_3(description)
    state, policy, slew = (rebuild(description[name], known) for name in ("state", "policy", "slew"))
    return LearnedPolicy(state, policy, params, reference, slew)


def _check(loaded: LearnedPolicy) -> None:
    """Raise a `ValueError` if the parts of a policy do not fit each other, before anything large is made."""
    signals, inputs, reference = loaded.state.signals, loaded.policy.inputs, loaded.reference
    expected = len(loaded.state.policy_kinds()) + (0 if reference is None else signals.d_q)
    if (len(inputs.scale), len(inputs.limits)) != (expected, signals.d_u):
        raise ValueError(f"it expects {len(inputs.scale)} numbers and gets {expected}")
    if reference is not None and (reference.shape[1:] != (signals.d_q,) or not len(reference)):
        raise ValueError(f"its reference has the shape {reference.shape}")
    if loaded.slew is not None and len(loaded.slew.most) != signals.d_u:
        raise ValueError(f"its slew limit is for {len(loaded.slew.most)} inputs, not {signals.d_u}")
    shapes = loaded.policy.shapes() if isinstance(loaded.policy, BoundPolicy) else {}
    found = {name: value.shape for name, value in loaded.params.items()}
    if shapes and found != shapes:
        raise ValueError(f"its arrays have the shapes {found}, not {shapes}")
    arrays = [*loaded.params.values(), *([] if reference is None else [reference])]
    if any(array.dtype.kind == "f" and not np.all(np.isfinite(array)) for array in arrays):
        raise ValueError("its parameters are not finite")
    if not all(array.dtype.kind in "fiu" and np.all(np.abs(array.astype(float)) < LARGEST) for array in arrays):
        raise ValueError(f"its parameters are not numbers below {LARGEST:g}")
    with np.errstate(all="ignore"):
        first, second = (loaded(np.zeros(loaded.measures)) for _ in range(2))  # a state begins, and then it moves on
    if any(u.shape != (signals.d_u,) or not np.all(np.isfinite(u)) for u in (first, second)):
        raise ValueError("its inputs are not finite")
