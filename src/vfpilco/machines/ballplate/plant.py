"""A ball on a plate that two motors tilt."""

from __future__ import annotations

import math

import numpy as np

from vfpilco.plants.simulation import SimulatedPlant
from vfpilco.tasks.sensors import Sensor


class BallPlate(SimulatedPlant):
    """A solid ball that rolls without slip on a square plate, tilted by two position-controlled motors.

    ## Inputs
    | name   | unit | limit       |
    |--------|------|-------------|
    | turn x | rad  | ±4° a sample |
    | turn y | rad  | ±4° a sample |

    How far each motor's commanded angle moves with this sample.

    ## Positions
    | name    | unit | meaning                                                   |
    |---------|------|-----------------------------------------------------------|
    | x, y    | m    | the ball's centre on the plate, by a camera               |
    | motor x | rad  | commanded angle, within ±30°; positive rolls the ball to +x |
    | motor y | rad  | likewise for y                                            |

    ## Start
    At rest anywhere within ±0.12 m, the plate level.

    ## Equations
    The tilt θ of the plate is a quarter of the motors' angle, which follows its command with a first-order lag:

        x'' = 5/7 (g sin θ_x + (x θ_x' + y θ_y') θ_x' - c g x'/‖(x', y')‖), and the same for y

    ## Faults
    The lag, rolling friction c, input latency and jitter of the sampling time. At ±0.15 m the ball stops dead.
    """

    positions = 4
    gravity = 9.81
    radius = 0.016
    """The ball's, m."""
    border = 0.15
    """Where the ball's centre stops, m."""
    starts_within = 0.12
    gear = 0.25
    """Tilt of the plate per angle of the motor."""
    bound = math.radians(30)
    """The largest commanded angle of a motor, rad."""

    def __init__(
        self,
        sampling_time: float,
        sensor: Sensor,
        *,
        lag: float = 0.02,
        friction: float = 1e-3,
        latency: float = 0.0,
        jitter: float = 0.0,
    ) -> None:
        super().__init__(sampling_time, sensor, substeps=40, latency=latency, jitter=jitter)
        self.lag, self.friction = lag, friction
        self.command = np.zeros(2)
        self.turned = np.zeros(2)

    @property
    def true_positions(self) -> np.ndarray:
        """The ball's position, and the commanded angles of the motors."""
        return np.concatenate([self.state[:2], self.command])

    @property
    def true_velocities(self) -> np.ndarray:
        """The ball's velocity, and how fast the commands moved in the last sample."""
        return np.concatenate([self.state[4:6], self.turned / self.sampling_time])

    def reset(self, seed: int) -> np.ndarray:
        super().reset(seed)
        self.command, self.turned = np.zeros(2), np.zeros(2)
        self.state[:2] = self.rng.uniform(-self.starts_within, self.starts_within, 2)
        return self.first_measurement()

    def step(self, u: np.ndarray) -> np.ndarray:
        before, self.command = self.command, np.clip(self.command + u, -self.bound, self.bound)
        self.turned = self.command - before
        return super().step(self.command)

    def _move(self, u: np.ndarray, duration: float) -> None:
        if not self.lag:
            self.state[2:4] = u
        steps = max(round(self.substeps * duration / self.sampling_time), 1)
        for _ in range(steps):
            super()._move(u, duration / steps)
            self.linked()
            outside = np.abs(self.state[:2]) >= self.border
            self.state[:2] = np.clip(self.state[:2], -self.border, self.border)
            self.state[4:6][outside] = 0.0

    def linked(self) -> None:
        """What happens between motors and plate after a moment of motion: they are rigidly linked."""

    def tilt(self, motor: float, turn: float, axis: int) -> tuple[float, float]:
        """The tilt of the plate about an axis and its rate, for an angle of the motor and its rate."""
        return self.gear * motor, self.gear * turn

    def friction_at(self, x: float, y: float) -> float:
        """The rolling friction where the ball is: the same everywhere."""
        return self.friction

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, y, motor_x, motor_y, dx, dy, _, _ = state.tolist()
        turn_x = (float(u[0]) - motor_x) / self.lag if self.lag else 0.0
        turn_y = (float(u[1]) - motor_y) / self.lag if self.lag else 0.0
        (tilt_x, rate_x), (tilt_y, rate_y) = self.tilt(motor_x, turn_x, 0), self.tilt(motor_y, turn_y, 1)
        outwards = x * rate_x + y * rate_y
        # As good as constant friction, but smooth within a millimetre per second of rest.
        speed = math.hypot(dx, dy)
        drag = self.friction_at(x, y) * self.gravity * math.tanh(speed / 1e-3) / max(speed, 1e-9)
        ddx = 5 / 7 * (self.gravity * math.sin(tilt_x) + outwards * rate_x - drag * dx)
        ddy = 5 / 7 * (self.gravity * math.sin(tilt_y) + outwards * rate_y - drag * dy)
        return np.array([dx, dy, turn_x, turn_y, ddx, ddy, 0.0, 0.0])
