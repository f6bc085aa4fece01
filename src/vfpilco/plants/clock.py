"""A clock for the driver of a real machine."""

from __future__ import annotations

import time


class Clock:
    """A clock with a constant rate, for a driver that has to wait until the next sample is due.

    Call `start()` when a trial begins, then `wait()` once per sample, between writing inputs and reading positions.

    Example:
        >>> clock = Clock(0.01)
        >>> clock.start()
        >>> clock.wait() < 1.0
        True
    """

    def __init__(self, sampling_time: float) -> None:
        self.sampling_time = sampling_time
        self.due = time.perf_counter()

    def start(self) -> None:
        """Start counting: the first sample is taken now."""
        self.due = time.perf_counter()

    def wait(self) -> float:
        """Sleep until the next sample is due, and return how late it is, in seconds."""
        self.due += self.sampling_time
        left = self.due - time.perf_counter()
        if left > 0:
            time.sleep(left)
        return max(time.perf_counter() - self.due, 0.0)
