"""What a plant is: three methods, and for a simulated one the true positions beside the measured ones."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from vfpilco.sensors import Sensor


@runtime_checkable
class Plant(Protocol):
    """A machine that can be brought to its start, driven one sample at a time, and stopped.

    One that can be over before its time says so by an attribute `over`, True after the step that ended it. A simulated
    one may tell `true_positions` and `true_velocities`, by which a trial is judged. One that has a method `close` is
    told when it is not needed any more.
    """

    def reset(self, seed: int) -> np.ndarray:
        """Go to the start position at rest and return the measured positions; `seed` fixes whatever is random."""
        ...

    def step(self, u: np.ndarray) -> np.ndarray:
        """Hold the input `u` for one sampling time and return the positions measured at its end."""
        ...

    def stop(self) -> None:
        """Apply the safe input; called at the end of every trial, whatever happened."""
        ...


class SimulatedPlant:
    """A plant integrated from its equations of motion and seen through a sensor.

    A subclass says how many positions it has and gives `derivative`, the time derivative of `[q, q']`.
    The input is held between samples; classical Runge-Kutta with `substeps` steps per sample.

    What real rigs do to time: an input takes effect only `latency` seconds after its sample, and samples are taken
    `jitter` seconds (standard deviation) too early or too late, at most 0.4 sampling times.
    """

    positions: int

    def __init__(
        self,
        sampling_time: float,
        sensor: Sensor,
        start_std: float = 0.0,
        substeps: int = 20,
        latency: float = 0.0,
        jitter: float = 0.0,
    ) -> None:
        self.sampling_time, self.sensor, self.start_std, self.substeps = sampling_time, sensor, start_std, substeps
        self.latency, self.jitter = latency, jitter
        self.state = np.zeros(2 * self.positions)
        self.held: np.ndarray | None = None
        self.late = 0.0
        self.rng = np.random.default_rng(0)

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The time derivative of the state `[q, q']` under the input `u`."""
        raise TypeError(f"{type(self).__name__} does not say how it moves: give it a method `derivative`.")

    @property
    def true_positions(self) -> np.ndarray:
        """The positions without the sensor's error, for judging a trial; never shown to the learner."""
        return self.state[: self.positions].copy()

    @property
    def true_velocities(self) -> np.ndarray:
        """The velocities, which no sensor tells."""
        return self.state[self.positions :].copy()

    def reset(self, seed: int) -> np.ndarray:
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros(2 * self.positions)
        self.state[: self.positions] = self.start_std * self.rng.standard_normal(self.positions)
        self.held, self.late = None, 0.0
        return self.sensor.measure(self.rng, self.true_positions)

    def step(self, u: np.ndarray) -> np.ndarray:
        late = 0.0
        if self.jitter:
            most = 0.4 * self.sampling_time
            late = float(np.clip(self.jitter * self.rng.standard_normal(), -most, most))
        duration = self.sampling_time + late - self.late
        waiting = min(self.latency, duration)
        if waiting:
            self._move(np.zeros_like(u) if self.held is None else self.held, waiting)
        self._move(u, duration - waiting)
        self.held, self.late = u, late
        return self.sensor.measure(self.rng, self.true_positions)

    def _move(self, u: np.ndarray, duration: float) -> None:
        steps = max(round(self.substeps * duration / self.sampling_time), 1)
        for _ in range(steps):
            self.state = runge_kutta(self.derivative, self.state, u, duration / steps)

    def stop(self) -> None:
        """A simulation needs no stopping."""


def runge_kutta(derivative, x: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """One classical fourth-order Runge-Kutta step of length `h`."""
    k1 = derivative(x, u)
    k2 = derivative(x + h / 2 * k1, u)
    k3 = derivative(x + h / 2 * k2, u)
    k4 = derivative(x + h * k3, u)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
