"""What the learner needs from a machine: three methods, and optional capabilities of simulated ones."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Plant(Protocol):
    """A machine that can be brought to its start, driven one sample at a time, and stopped.

    A plant may have more capabilities: `KnowsPositions`, `KnowsVelocities`, `EndsEarly`, `ExplainsEnd`,
    `Closeable`, `StopsAside`.

    Example:
        >>> class Motor:
        ...     def reset(self, seed):
        ...         return np.zeros(1)
        ...
        ...     def step(self, u):
        ...         return np.zeros(1)
        ...
        ...     def stop(self):
        ...         pass
        >>> isinstance(Motor(), Plant)
        True
    """

    def reset(self, seed: int) -> np.ndarray:
        """Bring the machine to its start, at rest, and return the measured positions; `seed` fixes all randomness."""
        ...

    def step(self, u: np.ndarray) -> np.ndarray:
        """Hold the input `u` for one sampling time and return the positions measured at its end."""
        ...

    def stop(self) -> None:
        """Apply the safe input; called at the end of every trial, whatever happened, and perhaps twice.

        If `step` does not return, another thread calls it.
        """
        ...


@runtime_checkable
class KnowsPositions(Protocol):
    """A simulated plant that knows its true positions; cost and success are computed from them."""

    @property
    def true_positions(self) -> np.ndarray:
        """The positions without the sensor's error, (d_q,)."""
        ...


@runtime_checkable
class KnowsVelocities(Protocol):
    """A simulated plant that knows its true velocities, as MC-PILCO with the full state needs."""

    @property
    def true_velocities(self) -> np.ndarray:
        """The velocities, (d_q,)."""
        ...


@runtime_checkable
class EndsEarly(Protocol):
    """A plant that can end a trial early."""

    @property
    def terminated(self) -> bool:
        """Whether the last step ended the trial."""
        ...


@runtime_checkable
class ExplainsEnd(EndsEarly, Protocol):
    """A plant that also knows why it ended a trial early."""

    @property
    def ended(self) -> str:
        """Why, in words that continue a sentence."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether only its time ran out: neither a goal was reached nor anything wrong."""
        ...


@runtime_checkable
class Closeable(Protocol):
    """A plant that has to be closed when it is no longer needed."""

    def close(self) -> None:
        """Release the machine for others."""
        ...


@runtime_checkable
class StopsAside(Protocol):
    """A plant that needs another way than `stop` to be stopped while one of its methods does not return."""

    def stop_aside(self) -> None:
        """Stop the machine; called by another thread."""
        ...
