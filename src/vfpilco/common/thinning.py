"""Some of many entries, evenly spaced."""

from __future__ import annotations

import numpy as np


def thinned(count: int, most: int) -> np.ndarray:
    """Indices of at most `most` of `count` entries, evenly spaced, including the first and the last."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(int))
