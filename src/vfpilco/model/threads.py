"""Doing the same for every GP, side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from vfpilco.common import interrupts

Item = TypeVar("Item")
Made = TypeVar("Made")


def side_by_side(function: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """What a function returns for every item; a thread per core computes it.

    If it fails for one, or on Ctrl-C, the others end where they check for interrupts.

    Example:
        >>> side_by_side(abs, [-1, 2])
        [1, 2]
    """
    stop = threading.Event()

    def work(item: Item) -> Made:
        with interrupts.stopped_by(stop):
            return function(item)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # at its end the threads are waited for
        try:
            return list(pool.map(work, items))
        except BaseException as error:
            stop.set()
            if isinstance(error, KeyboardInterrupt):
                interrupts.announce()
            raise
