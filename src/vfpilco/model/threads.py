"""Doing the same for every GP, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def side_by_side(function: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """What a function returns for every item; a thread per core computes it.

    Example:
        >>> side_by_side(abs, [-1, 2])
        [1, 2]
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
