"""A learned policy as it is used on the machine: called with measured positions, it keeps its own window."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from vfpilco.errors import UserError
from vfpilco.files import Damaged, read_arrays, write_arrays
from vfpilco.limits import Slew
from vfpilco.methods import from_description, to_description, tuples
from vfpilco.policies import KINDS, Params, Policy
from vfpilco.representation import Representation
from vfpilco.trial import unwrap


class LearnedPolicy:
    """The inputs for the positions measured so far; plain NumPy in float64, no JAX.

    Call it once per sample with the measured positions. `reset()` before the first sample of a trial. One that follows
    a `reference` goes on to its next row with every sample, and stays at the last one. With a `slew` limit inputs
    change no faster than that.
    """

    def __init__(
        self,
        representation: Representation,
        policy: Policy,
        params: Params,
        reference: np.ndarray | None = None,
        slew: Slew | None = None,
    ) -> None:
        self.representation, self.policy, self.slew = representation, policy, slew
        self.reference = None if reference is None else np.asarray(reference, dtype=np.float64)
        self.params = {name: np.asarray(value) for name, value in params.items()}
        self._exact = {name: value.astype(np.float64) for name, value in self.params.items()}
        self._last: np.ndarray | None = None
        self._memory: Any = None
        self._samples = 0
        self._before: np.ndarray | None = None

    def reset(self) -> None:
        """Forget the positions seen so far: the next one is taken as the start, at rest."""
        self._last = self._memory = self._before = None
        self._samples = 0

    @property
    def measures(self) -> int:
        """How many numbers are to be given: the positions, and for a policy of the full state their velocities too."""
        return self.representation.d_q * (2 if self.representation.full_state else 1)

    def __call__(self, measured: ArrayLike) -> Float[np.ndarray, "d_u"]:
        """The inputs to apply now that these positions have been measured."""
        measured = np.asarray(measured, dtype=np.float64)
        if measured.shape != (self.measures,):
            raise UserError(f"A policy of {self.measures} measurements was given an array of shape {measured.shape}.")
        if self._last is None:
            self._memory = self.representation.begin(measured)
        else:
            turning = self.representation.angles + (False,) * (self.measures - self.representation.d_q)
            measured = unwrap(measured, self._last, turning)
            # The policy input holds positions only (Eq. 7), so the inputs in this memory are never read.
            self._memory = self.representation.push(self._memory, measured, np.zeros(self.representation.d_u))
        self._last = measured
        x = self.representation.policy_input(self._memory)
        if self.reference is not None:
            goal = self.reference[min(self._samples, len(self.reference) - 1)]
            x = np.concatenate([x, goal - measured[: self.representation.d_q]])
        self._samples += 1
        u = self.policy(self._exact, x)
        if self.slew is not None:
            u = self._before = self.slew(u, np.zeros_like(u) if self._before is None else self._before)
        return u

    def after(self, histories: Float[np.ndarray, "N samples d"], sample: int = 0) -> Float[np.ndarray, "N d_u"]:
        """The inputs after each of N histories of measurements, angles followed by whole turns; `reset()` or not.

        One that follows a reference takes the row of `sample`. The limit of changes does not take part.
        """
        memory = self.representation.begin(histories[:, 0])
        for measured in histories[:, 1:].swapaxes(0, 1):
            memory = self.representation.push(memory, measured, np.zeros((len(measured), self.representation.d_u)))
        x = self.representation.policy_input(memory)
        if self.reference is not None:
            goal = self.reference[min(sample, len(self.reference) - 1)]
            x = np.concatenate([x, goal - histories[:, -1, : self.representation.d_q]], axis=-1)
        return self.policy(self._exact, x)

    def save(self, path: str | Path) -> None:
        """Write the policy to one safetensors file: its arrays, and as metadata what is needed to build it."""
        kind = next(name for name, cls in KINDS.items() if type(self.policy) is cls)
        seen = to_description(self.representation)
        description = {"representation": seen, "kind": kind, "policy": asdict(self.policy)}  # pyright: ignore
        if self.slew is not None:
            description["slew"] = self.slew.most
        arrays = dict(self.params) if self.reference is None else {**self.params, "reference": self.reference}
        write_arrays(Path(path), arrays, {"vfpilco_policy": description})

    @staticmethod
    def load(path: str | Path) -> LearnedPolicy:
        """Read a policy written by `save`."""
        try:
            params, about = read_arrays(Path(path))
            description = about["vfpilco_policy"]
            representation = from_description(description["representation"])
            policy = KINDS[description["kind"]](**tuples(description["policy"]))
            reference = params.pop("reference", None)
            slew = Slew(tuple(description["slew"])) if "slew" in description else None
            loaded = LearnedPolicy(representation, policy, params, reference, slew)
            if not np.all(np.isfinite(loaded(np.zeros(loaded.measures)))):
                raise ValueError("its inputs are not finite")
        except FileNotFoundError as error:
            raise UserError(f"There is no policy file {path}: learn one first.") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(f"{path} is not a policy of ours or is damaged ({error})") from error
        loaded.reset()
        return loaded
