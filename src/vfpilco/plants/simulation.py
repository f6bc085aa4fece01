"""Plants that are simulated from their equations of motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from vfpilco.common.random import NumpyRandom
from vfpilco.tasks.sensors import Sensor


class Sensed:
    """The measuring part of a simulated plant: its sensor and the sensor's memory."""

    sensor: Sensor
    rng: np.random.Generator
    sensing: Any = ()
    """The sensor's memory."""

    @property
    def true_positions(self) -> np.ndarray:
        """The positions without the sensor's error."""
        raise NotImplementedError

    def first_measurement(self) -> np.ndarray:
        """Measure at the start of a trial, with a new memory of the sensor."""
        self.sensing = self.sensor.begin(self.true_positions)
        return self.measurement()

    def measurement(self) -> np.ndarray:
        """Measure the positions."""
        measured, self.sensing = self.sensor.observe(self.sensing, self.true_positions, NumpyRandom(self.rng))
        return measured


class SimulatedPlant(Sensed):
    """A plant integrated from its equations of motion and measured by a sensor.

    A subclass sets `positions`, the number of positions, and defines `derivative`, the time derivative of the state
    `[q, q']`. What else changes, such as a current or a pressure, follows in the state; `hidden` are its values at
    rest. The input is held between samples; classical Runge-Kutta with `substeps` steps per sample.

    Every trial starts at rest at the positions `start`, the origin if not given, with a standard deviation of
    `start_std`, one number or one per position. With `start_velocity` and `start_velocity_std`, likewise, it starts in
    motion.

    Two imperfections of real rigs can be simulated: inputs take effect `latency` seconds after their sample, however
    many samples that is, and samples are taken too early or too late by `jitter` seconds (standard deviation), at most
    by 0.4 sampling times. Until the first input takes effect, the input is zero.

    Example:
        >>> import vfpilco
        >>> class Slider(SimulatedPlant):
        ...     positions = 1
        ...
        ...     def derivative(self, state, u):
        ...         return np.array([state[1], u[0]])
        >>> plant = Slider(0.02, vfpilco.GaussianNoise((0.0,)))
        >>> plant.reset(0)
        array([0.])
        >>> plant.step(np.array([1.0])).round(6)
        array([0.0002])
    """

    positions: int
    hidden: tuple[float, ...] = ()

    def __init__(
        self,
        sampling_time: float,
        sensor: Sensor,
        start_std: float | Sequence[float] = 0.0,
        substeps: int = 20,
        latency: float = 0.0,
        jitter: float = 0.0,
        start: Sequence[float] | None = None,
        start_velocity: float | Sequence[float] = 0.0,
        start_velocity_std: float | Sequence[float] = 0.0,
    ) -> None:
        self.sampling_time, self.sensor, self.substeps = sampling_time, sensor, substeps
        self.start, self.start_std = start, np.asarray(start_std, dtype=float)
        self.start_velocity = np.asarray(start_velocity, dtype=float)
        self.start_velocity_std = np.asarray(start_velocity_std, dtype=float)
        self.latency, self.jitter = latency, jitter
        self.state = self._rest()
        self.applied: np.ndarray | None = None
        self.waiting: deque[tuple[float, np.ndarray]] = deque()
        self.late = 0.0
        self.rng = np.random.default_rng(0)

    def _rest(self) -> np.ndarray:
        return np.concatenate([np.zeros(2 * self.positions), self.hidden])

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The time derivative of the state `[q, q', hidden]` under the input `u`."""
        raise TypeError(f"{type(self).__name__} has no equations of motion: give it a method `derivative`.")

    @property
    def true_positions(self) -> np.ndarray:
        """The positions without the sensor's error, for evaluating a trial; the learner never sees them."""
        return self.state[: self.positions].copy()

    @property
    def true_velocities(self) -> np.ndarray:
        """The velocities, which no sensor measures."""
        return self.state[self.positions : 2 * self.positions].copy()

    def reset(self, seed: int) -> np.ndarray:
        self.rng = np.random.default_rng(seed)
        self.state = self._rest()
        self.state[: self.positions] = self.start_std * self.rng.standard_normal(self.positions)
        if self.start is not None:
            self.state[: self.positions] += self.start
        self.state[self.positions : 2 * self.positions] = self.start_velocity
        if np.any(self.start_velocity_std):
            drawn = self.start_velocity_std * self.rng.standard_normal(self.positions)
            self.state[self.positions : 2 * self.positions] += drawn
        self.applied, self.late = None, 0.0
        self.waiting.clear()
        return self.first_measurement()

    def step(self, u: np.ndarray) -> np.ndarray:
        late = 0.0
        if self.jitter:
            most = 0.4 * self.sampling_time
            late = float(np.clip(self.jitter * self.rng.standard_normal(), -most, most))
        self._advance(u, self.sampling_time + late - self.late)
        self.late = late
        return self.measurement()

    def _advance(self, u: np.ndarray, duration: float) -> None:
        """Move for one sample; `u` and the inputs before it take effect when their latency has passed."""
        self.waiting.append((self.latency, np.array(u)))
        if self.applied is None:
            self.applied = np.zeros_like(u)
        passed = 0.0
        while self.waiting and self.waiting[0][0] <= duration:
            due, following = self.waiting.popleft()
            if due > passed:
                self._move(self.applied, due - passed)
            self.applied, passed = following, due
        self._move(self.applied, duration - passed)
        self.waiting = deque((due - duration, following) for due, following in self.waiting)

    def _move(self, u: np.ndarray, duration: float) -> None:
        steps = max(round(self.substeps * duration / self.sampling_time), 1)
        for _ in range(steps):
            self.state = runge_kutta(self.derivative, self.state, u, duration / steps)

    def stop(self) -> None:
        """Do nothing: a simulation need not be stopped."""


def runge_kutta(derivative, x: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """One classical fourth-order Runge-Kutta step of length `h`."""
    k1 = derivative(x, u)
    k2 = derivative(x + h / 2 * k1, u)
    k3 = derivative(x + h / 2 * k2, u)
    k4 = derivative(x + h * k3, u)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
