"""A learned policy as it is used on the machine: called with measured positions, it keeps its own window."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from vfpilco.errors import UserError
from vfpilco.files import Damaged, read_arrays, write_arrays
from vfpilco.history import VelocityFree, Window
from vfpilco.policies import KINDS, Params, Policy
from vfpilco.trial import unwrap


class LearnedPolicy:
    """The inputs for the positions measured so far; plain NumPy in float64, no JAX.

    Call it once per sample with the measured positions. `reset()` before the first sample of a trial.
    """

    def __init__(self, history: VelocityFree, policy: Policy, params: Params) -> None:
        self.history, self.policy = history, policy
        self.params = {name: np.asarray(value) for name, value in params.items()}
        self._exact = {name: value.astype(np.float64) for name, value in self.params.items()}
        self._window: Window | None = None

    def reset(self) -> None:
        """Forget the positions seen so far: the next one is taken as the start, at rest."""
        self._window = None

    def __call__(self, q: ArrayLike) -> Float[np.ndarray, "d_u"]:
        """The inputs to apply now that `q` has been measured."""
        q = np.asarray(q, dtype=np.float64)
        if q.shape != (self.history.d_q,):
            raise UserError(f"A policy of {self.history.d_q} positions was given an array of shape {q.shape}.")
        if self._window is None:
            self._window = self.history.begin(q)
        else:
            q = unwrap(q, self._window.q[0], self.history.angles)
            # The policy input holds positions only (Eq. 7), so the inputs in this window are never read.
            self._window = self.history.push(self._window, q, np.zeros(self.history.d_u))
        return self.policy(self._exact, self.history.policy_input(self._window))

    def save(self, path: str | Path) -> None:
        """Write the policy to one safetensors file: its arrays, and as metadata what is needed to build it."""
        kind = next(name for name, cls in KINDS.items() if isinstance(self.policy, cls))
        description = {"history": asdict(self.history), "kind": kind, "policy": asdict(self.policy)}  # pyright: ignore
        write_arrays(Path(path), dict(self.params), {"vfpilco_policy": description})

    @staticmethod
    def load(path: str | Path) -> LearnedPolicy:
        """Read a policy written by `save`."""
        try:
            params, about = read_arrays(Path(path))
            description = about["vfpilco_policy"]
            history = VelocityFree(**_tuples(description["history"]))
            policy = KINDS[description["kind"]](**_tuples(description["policy"]))
            loaded = LearnedPolicy(history, policy, params)
            if not np.all(np.isfinite(loaded(np.zeros(history.d_q)))):
                raise ValueError("its inputs are not finite")
        except FileNotFoundError as error:
            raise UserError(f"There is no policy file {path}: learn one first.") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(f"{path} is not a policy of ours or is damaged ({error})") from error
        loaded.reset()
        return loaded


def _tuples(fields: dict) -> dict:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
