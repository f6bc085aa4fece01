"""Measuring how long a compiled function takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np


class Duration(NamedTuple):
    """How long a call takes."""

    seconds: float
    """The median."""
    compile_seconds: float
    """How much longer the first call took."""


def measure(function: Callable[[], Any], repeats: int = 5) -> Duration:
    """Call a function several times, the first time to compile it."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - begin)
    median = float(np.median(times[1:]))
    return Duration(median, max(times[0] - median, 0.0))
