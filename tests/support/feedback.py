"""Hand-made feedback that sees only what a policy sees: measured positions, one sample at a time."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_discrete_are

from vfpilco.studies.alternatives.by_hand import Controller, SwingUp, discrete, jacobians, optimal_gain
from vfpilco.tasks.task import Task

__all__ = ["Controller", "Proportional", "Regulator", "SwingUp", "discrete", "jacobians", "optimal_gain"]


class Regulator:
    """A linear-quadratic regulator with a Kalman filter, around a state of rest."""

    def __init__(
        self, task: Task, goal: np.ndarray, weights: list[float], effort: float, disturbance: list[float]
    ) -> None:
        plant, self.limits = task.machine.plant(), task.machine.limits
        self.goal, inputs, d = goal, len(self.limits), plant.positions
        self.f, self.g = discrete(*jacobians(plant, goal, np.zeros(inputs)), plant.sampling_time, plant.latency)
        n = len(self.f)
        self.gain = optimal_gain(self.f, self.g, _diagonal(weights, n) + 1e-9 * np.eye(n), effort * np.eye(inputs))
        noise = np.diag(np.maximum(task.machine.sensor.error_std(np.zeros((3, d))), 1e-6) ** 2)
        self.c = np.eye(n)[:d]
        # The Kalman filter is the regulator of the transposed machine, up to the step of the prediction.
        spread = solve_discrete_are(self.f.T, self.c.T, _diagonal(np.square(disturbance), n) + 1e-12 * np.eye(n), noise)
        self.correction = spread @ self.c.T @ np.linalg.inv(self.c @ spread @ self.c.T + noise)
        self.estimate: np.ndarray | None = None

    def reset(self) -> Regulator:
        self.estimate = None
        return self

    def __call__(self, q: np.ndarray) -> np.ndarray:
        error = q - self.goal[: len(q)]
        if self.estimate is None:
            self.estimate = self.c.T @ error
        self.estimate = self.estimate + self.correction @ (error - self.c @ self.estimate)
        u = np.clip(-self.gain @ self.estimate, -self.limits, self.limits)
        self.estimate = self.f @ self.estimate + self.g @ u
        return u


def _diagonal(entries: np.ndarray | list[float], n: int) -> np.ndarray:
    return np.diag(np.pad(np.asarray(entries, float), (0, n - len(entries))))


class Proportional:
    """Proportional feedback of one position, with damping from its smoothed differences."""

    def __init__(self, task: Task, goal: float, gain: float, damping: float) -> None:
        self.task, self.goal, self.gain, self.damping = task, goal, gain, damping
        self.reset()

    def reset(self) -> Proportional:
        self.last, self.speed = None, 0.0
        return self

    def __call__(self, q: np.ndarray) -> np.ndarray:
        if self.last is not None:
            self.speed += 0.5 * ((q[0] - self.last) / self.task.machine.sampling_time - self.speed)
        self.last = q[0]
        limits = self.task.machine.limits
        return np.clip([self.gain * (self.goal - q[0]) - self.damping * self.speed], -limits, limits)
