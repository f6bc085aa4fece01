"""Arrays as short text: 16 bits a number, which is finer than any screen."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

MOST = 65534
"""The largest number that stands for a value; one more stands for none."""


def pack(array: np.ndarray) -> dict[str, Any]:
    """The array as shape, lowest value, step and base64 of little-endian numbers; read by `unpack` in numbers.js."""
    array = np.asarray(array, dtype=float)
    known = np.isfinite(array)
    low = float(array[known].min()) if known.any() else 0.0
    step = (float(array[known].max()) - low) / MOST if known.any() else 0.0
    whole = np.full(array.shape, MOST + 1)
    whole[known] = np.round((array[known] - low) / step) if step > 0 else 0
    text = base64.b64encode(whole.astype("<u2").tobytes()).decode()
    return {"shape": list(array.shape), "low": low, "step": step, "data": text}


def thinned(count: int, most: int) -> np.ndarray:
    """Indices of at most `most` of `count` entries, evenly spaced, the first and the last among them."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(int))
