"""How far ahead gradients look: as far as independent particles agree on them.

On an unstable machine the gradient of a late cost grows with every sample that it is propagated back, and differs from
one set of particles to the next until only noise is left. How far back a gradient can be trusted depends on the machine
and on the policy, so it is measured: independent gradients at the same parameters agree, or they do not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array

from vfpilco.policy.base import Params
from vfpilco.rollout.gradient import Objective, Sampling, begin, gradient_steps
from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.schedule import Phase

DECAYS = (1.0, 0.99, 0.98, 0.97, 0.95, 0.92, 0.88, 0.84, 0.8)
"""The decays to choose from, longest horizon first."""
FIRST = 0.97
"""The decay that the first measurement begins with."""
BATCHES = 4
"""Independent gradients per measurement."""
AGREEMENT = 0.6
"""The mean cosine between two of them that is asked for: signal somewhat above scatter."""


@dataclass(frozen=True)
class Agreement:
    """Measures how well independent gradients agree at the same parameters."""

    simulator: Simulator
    objective: Objective
    sampling: Sampling

    def __call__(self, params: Params, phase: Phase, key: Array) -> float:
        """The mean cosine between two independent gradients, in units of the learning rates."""
        units = []
        for i in range(BATCHES):
            # A fresh Adam state holds the gradient itself after one step; the learning rate is 0.
            start = begin(params, jax.random.fold_in(key, i), self.sampling.shards, self.sampling.clip)
            one = phase._replace(steps=1, rate=0.0)
            after, _ = gradient_steps(self.simulator, start, self.objective, one, self.sampling)
            moments = after.moments[-1] if self.sampling.clip else after.moments
            scaled = jax.tree.map(lambda g, m: np.ravel(np.asarray(g * m)), moments.mu, self.objective.multipliers)
            gradient = np.concatenate(jax.tree.leaves(scaled))
            units.append(gradient / max(float(np.linalg.norm(gradient)), 1e-30))
        return float(np.nan_to_num(np.mean([a @ b for a, b in itertools.combinations(units, 2)])))

    def longest(self, params: Params, phase: Phase, key: Array) -> float:
        """The decay with the longest horizon on which gradients agree, searched from `phase.decay` on.

        If they agree on none, the one on which they agree best.
        """
        measured: dict[int, float] = {}

        def agrees(i: int) -> bool:
            measured[i] = self(params, phase._replace(decay=DECAYS[i]), key)
            return measured[i] >= AGREEMENT

        i = int(np.argmin(np.abs(np.array(DECAYS) - phase.decay)))
        if agrees(i):
            while i > 0 and agrees(i - 1):
                i -= 1
            return DECAYS[i]
        found = next((j for j in range(i + 1, len(DECAYS)) if agrees(j)), None)
        return DECAYS[max(measured, key=measured.__getitem__) if found is None else found]
