"""Arrays as short text: 16 bits per number, which is finer than a screen can show."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

MOST = 65534
"""The largest code of a value; the next one is the code of a missing value."""


def pack(array: np.ndarray) -> dict[str, Any]:
    """Encode an array as text; `unpack` in numbers.js decodes it.

    Returns:
        The array's shape, its lowest value, the step between two codes, and the codes as base64 of little-endian
        16-bit integers; values that are not finite are missing.
    """
    array = np.asarray(array, dtype=float)
    known = np.isfinite(array)
    low = float(array[known].min()) if known.any() else 0.0
    step = (float(array[known].max()) - low) / MOST if known.any() else 0.0
    codes = np.full(array.shape, MOST + 1)
    codes[known] = np.round((array[known] - low) / step) if step > 0 else 0
    text = base64.b64encode(codes.astype("<u2").tobytes()).decode()
    return {"shape": list(array.shape), "low": low, "step": step, "data": text}
