"""Where an optimisation is between two chunks of gradient steps."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vfpilco.policy.base import Params
from vfpilco.rollout.devices import replicate
from vfpilco.rollout.gradient import AdamState

COLLAPSE, PATIENCE = 1.25, 2
"""An optimisation has collapsed if the cost was so many times that of the best policy at so many evaluations."""


class Best(NamedTuple):
    """The best policy so far, by its expected cost on particles that no gradient has seen."""

    params: Params
    costs: Float[np.ndarray, "M"]
    """The cost of every particle."""
    worse: int = 0
    """Evaluations since then, in a row, with a cost far above it."""
    step: int = 0
    """After how many gradient steps of the optimisation it was found."""

    @property
    def cost(self) -> float:
        """The expected cost; infinite if it was never finite."""
        return mean(self.costs)

    def after(self, params: Params, costs: Float[np.ndarray, "M"], step: int = 0) -> Best:
        """The best one after another evaluation, at that gradient step."""
        if mean(costs) <= self.cost:
            return Best(params, costs, step=step)
        return self._replace(worse=self.worse + 1 if mean(costs) > COLLAPSE * self.cost else 0)


def mean(costs: Float[np.ndarray, "M"]) -> float:
    """The mean; infinite if a cost is not finite."""
    return float(costs.mean()) if np.all(np.isfinite(costs)) else np.inf


class Rival(NamedTuple):
    """What an optimisation for the same trial found before the present one began with a new policy."""

    best: Best
    """Its best policy; the cost is infinite if there was none."""
    decay: float
    origin: int
    steps: int
    """Gradient steps until then."""


class OptimiserState(NamedTuple):
    """Where an optimisation is between two chunks: everything that is needed to continue it, to the bit."""

    attempt: int
    """Which of several optimisations for the same trial this is, from 0."""
    redraw: int
    """How often the policy was drawn again."""
    phase: int
    begun: int
    """How many steps had been made when this phase began."""
    halvings: int
    """How often the steps were halved after a collapse."""
    decay: float
    """The gradient decay."""
    origin: int
    """Which of the starts it began from."""
    weight: float
    """The weight of the safe ranges."""
    best: Best
    rival: Rival
    adam: AdamState
    evaluations: Float[np.ndarray, "evaluations M"]
    """The cost of every particle under the best policy, after every evaluation of this phase."""
    costs: Float[np.ndarray, "steps"]

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it, by name."""
        raw = self._replace(adam=self.adam._replace(key=jax.random.key_data(self.adam.key)))
        leaves, _ = jax.tree_util.tree_flatten_with_path(raw)
        return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}

    def restored(self, arrays: dict[str, np.ndarray], shards: int) -> OptimiserState:
        """The one that gave `arrays`, of an optimisation like this one; `ValueError` if it was of another."""
        shapes = {name: (array.dtype, array.shape[1:]) for name, array in self.arrays().items()}
        if {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()} != shapes:
            raise ValueError("it is of another optimisation")
        names, structure = list(shapes), jax.tree.structure(self)
        raw = jax.tree.unflatten(structure, [arrays[name] for name in names])
        adam = raw.adam._replace(key=jax.random.wrap_key_data(jnp.asarray(raw.adam.key)))
        numbers = {
            name: int(getattr(raw, name)) for name in ("attempt", "redraw", "phase", "begun", "halvings", "origin")
        }
        best, rival = (one._replace(worse=int(one.worse), step=int(one.step)) for one in (raw.best, raw.rival.best))
        return raw._replace(
            adam=replicate(adam, shards),
            best=best,
            rival=Rival(rival, float(raw.rival.decay), int(raw.rival.origin), int(raw.rival.steps)),
            decay=float(raw.decay),
            weight=float(raw.weight),
            **numbers,
        )
