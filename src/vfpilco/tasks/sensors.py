"""Sensors: one description each, used on a simulated plant (NumPy) and for the particles (JAX).

A sensor may keep a memory and may depend on the motion: `begin` gives its memory at rest, `measure` turns the true
positions into measured ones and updates the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError, number_tuple
from vfpilco.common.random import Random


@runtime_checkable
class Sensor(Protocol):
    """What happens between the true positions and the measured ones. Subclass it and override what differs.

    `measure` is called with NumPy arrays on a simulated plant and with JAX arrays in the particles: get the right
    functions with `q.__array_namespace__()`. Sensors are immutable and hashable, as frozen dataclasses are.

    Example:
        >>> isinstance(GaussianNoise((1e-3,)), Sensor)
        True
    """

    def noise(self, random: Random, shape: tuple[int, ...]) -> Any:
        """Draw the random numbers of all samples at once.

        Args:
            random: Where to draw them from.
            shape: (samples, particles, d_q) in the particles, (d_q,) on a plant.

        Returns:
            An array, or a tuple of arrays, that begin with the same axes; `measure` receives those of one sample.
        """
        return random.normal(shape) * 0

    def begin(self, q: Any) -> Any:
        """The sensor's memory at rest in the true positions `q` (…, d_q): arrays in any nesting of tuples."""
        return ()

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        """Measure once.

        Args:
            memory: What `begin`, or this method at the sample before, returned.
            q: The true positions (…, d_q).
            noise: The random numbers of this sample, from `noise`.

        Returns:
            The measured positions (…, d_q), and the memory after this sample.
        """
        ...

    def observe(self, memory: Any, q: np.ndarray, random: Random) -> tuple[np.ndarray, Any]:
        """Measure on a simulated plant; `measure` with fresh noise unless overridden."""
        return self.measure(memory, q, self.noise(random, q.shape))

    def error_std(self, q: Float[np.ndarray, "samples d_q"]) -> np.ndarray | None:
        """The standard deviation of the error along a trajectory.

        Returns:
            An array (d_q,) if it is the same at every sample, (samples, d_q) if it depends on the motion, None if it
            is unknown.
        """
        return None


def std_at_rest(sensor: Sensor, positions: int) -> tuple[float, ...] | None:
    """The standard deviation of a sensor's error while nothing moves, per position; None if it is unknown."""
    found = sensor.error_std(np.zeros((3, positions)))
    return None if found is None else tuple(np.broadcast_to(found, (3, positions))[0].tolist())


@dataclass(frozen=True)
class GaussianNoise(Sensor):
    """Independent Gaussian noise with one standard deviation per position.

    Example:
        >>> GaussianNoise((1e-3, 2e-3))
        GaussianNoise(std=(0.001, 0.002))
    """

    std: Sequence[float]
    """Standard deviations, in the units of the positions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", number_tuple(self.std, "The standard deviations of a sensor"))
        if not all(np.isfinite(s) and s >= 0 for s in self.std):
            raise UserError(f"A sensor's noise must be zero or positive, got {self.std}: give standard deviations.")

    def noise(self, random: Random, shape: tuple[int, ...]) -> Any:
        _check_columns(shape, self.std, "standard deviations")
        gauss = random.normal(shape)
        return gauss * np.asarray(self.std, gauss.dtype)

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        return q + noise, memory

    def error_std(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.std, dtype=float)


@dataclass(frozen=True)
class Quantised(Sensor):
    """Positions rounded to multiples of a step: encoders, cameras; a step of 0 measures exactly.

    In the particles the rounding error is uniform noise, which is what it looks like while the machine moves.

    Example:
        >>> Quantised((0.01,)).error_std(np.zeros((3, 1))).round(5)
        array([0.00289])
    """

    step: Sequence[float]
    """Step sizes, in the units of the positions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", number_tuple(self.step, "The steps of a sensor"))
        if not all(np.isfinite(s) and s >= 0 for s in self.step):
            raise UserError(
                f"A sensor's step must be zero or positive, got {self.step}: give it in the position's unit."
            )

    def noise(self, random: Random, shape: tuple[int, ...]) -> Any:
        _check_columns(shape, self.step, "steps")
        uniform = random.uniform(shape, -0.5, 0.5)
        return uniform * np.asarray(self.step, uniform.dtype)

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        return q + noise, memory

    def observe(self, memory: Any, q: np.ndarray, random: Random) -> tuple[np.ndarray, Any]:
        """The nearest multiple of the step; nothing is random."""
        step = np.asarray(self.step)
        return np.where(step > 0, np.round(q / np.where(step > 0, step, 1)) * step, q), memory

    def error_std(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.step, dtype=float) / float(np.sqrt(12))


@dataclass(frozen=True)
class TimingJitter(Sensor):
    """Another sensor whose samples are taken a little too early or too late: the error grows with the speed.

    Example:
        >>> TimingJitter(GaussianNoise((1e-3,)), std=0.03).std
        0.03
    """

    sensor: Sensor
    """The sensor itself."""
    std: float
    """Standard deviation of the sampling instants, as a fraction of the sampling time."""
    affected: tuple[bool, ...] = ()
    """Which positions are affected; all if empty. Commanded positions are known at any time."""

    def noise(self, random: Random, shape: tuple[int, ...]) -> Any:
        return self.sensor.noise(random, shape), random.normal(shape[:-1]) * self.std

    def begin(self, q: Any) -> Any:
        return self.sensor.begin(q), q

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        (inner, before), (error, late) = memory, noise
        measured, inner = self.sensor.measure(inner, q, error)
        return measured + late[..., None] * (q - before) * self._mask(q.shape[-1], q.dtype), (inner, q)

    def observe(self, memory: Any, q: np.ndarray, random: Random) -> tuple[np.ndarray, Any]:
        inner, before = memory
        measured, inner = self.sensor.observe(inner, q, random)
        late = self.std * np.asarray(random.normal(q.shape[:-1]))
        return measured + late[..., None] * (q - before) * self._mask(q.shape[-1], q.dtype), (inner, q)

    def error_std(self, q: np.ndarray) -> np.ndarray | None:
        own = self.sensor.error_std(q)
        if own is None:
            return None
        return np.hypot(own, self.std * np.gradient(q, axis=0) * self._mask(q.shape[-1], np.float64))

    def _mask(self, positions: int, dtype: Any) -> np.ndarray:
        return np.asarray(self.affected or (True,) * positions, dtype)


@dataclass(frozen=True)
class PerPosition(Sensor):
    """A sensor of its own for every position, such as an encoder beside a noisy potentiometer.

    Example:
        >>> PerPosition((Quantised((0.0015,)), GaussianNoise((2e-3,)))).error_std(np.zeros((3, 2))).round(5)
        array([0.00043, 0.002  ])
    """

    sensors: Sequence[Sensor]
    """One sensor per position, each for one position."""

    def __post_init__(self) -> None:
        if not isinstance(self.sensors, tuple | list) or not all(isinstance(each, Sensor) for each in self.sensors):
            raise UserError(
                f"PerPosition needs a tuple of sensors, one for every position, got {self.sensors!r}: write for "
                "example PerPosition((Quantised((0.01,)), GaussianNoise((1e-3,))))."
            )
        object.__setattr__(self, "sensors", tuple(self.sensors))

    def noise(self, random: Random, shape: tuple[int, ...]) -> Any:
        _check_columns(shape, self.sensors, "sensors")
        return tuple(sensor.noise(random, (*shape[:-1], 1)) for sensor in self.sensors)

    def begin(self, q: Any) -> Any:
        return tuple(sensor.begin(column) for sensor, column in self._columns(q))

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        parts = zip(self._columns(q), memory, noise, strict=True)
        return _joined(sensor.measure(kept, column, error) for (sensor, column), kept, error in parts)

    def observe(self, memory: Any, q: np.ndarray, random: Random) -> tuple[np.ndarray, Any]:
        parts = zip(self._columns(q), memory, strict=True)
        return _joined(sensor.observe(kept, column, random) for (sensor, column), kept in parts)

    def error_std(self, q: np.ndarray) -> np.ndarray | None:
        found = [sensor.error_std(column) for sensor, column in self._columns(q)]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return np.concatenate(np.broadcast_arrays(*known), axis=-1)

    def _columns(self, q: Any) -> list[tuple[Sensor, Any]]:
        return [(sensor, q[..., i : i + 1]) for i, sensor in enumerate(self.sensors)]


@dataclass(frozen=True)
class Undeclared(Sensor):
    """Nothing is said about the sensor of a machine: its noise is found in the data; a simulated plant has none.

    Example:
        >>> Undeclared().error_std(np.zeros((3, 1))) is None
        True
    """

    def measure(self, memory: Any, q: Any, noise: Any) -> tuple[Any, Any]:
        return q, memory


def _joined(results: Iterable[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The measurements of several sensors side by side, and their memories."""
    measured, memories = zip(*results, strict=True)
    return measured[0].__array_namespace__().concat(measured, axis=-1), memories


def _check_columns(shape: tuple[int, ...], values: Sequence[Any], what: str) -> None:
    if shape[-1] != len(values):
        raise UserError(f"The sensor has {len(values)} {what} for {shape[-1]} positions.")
