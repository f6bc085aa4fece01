"""Which particles to show of many."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from vfpilco.common.thinning import thinned
from vfpilco.rollout.particles import Rollout


def typical_particles(predicted: Rollout, start: np.ndarray, others: int) -> Int[np.ndarray, "shown"]:
    """Choose the particles to draw.

    Args:
        predicted: All particles.
        start: The positions (d_q,) that the machine started from.
        others: How many particles to choose at most in addition to the first one.

    Returns:
        Indices: of the particles that started close to `start` the one of median cost, then others from low to high
        cost.
    """
    q, cost = np.asarray(predicted.q[0]), np.asarray(predicted.cost).sum(0)
    distance = (((q - start) / np.maximum(q.std(0), 1e-12)) ** 2).sum(-1)
    near = np.argsort(distance, kind="stable")[: max(1, len(distance) // 10)]
    typical = near[np.argsort(cost[near], kind="stable")[len(near) // 2]]
    order = np.argsort(cost, kind="stable")
    rest = order[thinned(len(order), others + 2)[1:-1]] if len(order) > 2 else order
    return np.concatenate([[typical], rest])
