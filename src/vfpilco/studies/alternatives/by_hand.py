"""Hand-designed controllers, from the machine's equations or tuned by hand; none swings the Furuta up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm, solve_discrete_are

from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.machines.load import load
from vfpilco.plants.simulation import SimulatedPlant, runge_kutta
from vfpilco.studies.alternatives.records import Attempt
from vfpilco.tasks.task import Task
from vfpilco.trials.execute import connect, connected, execute

Controller = Callable[[np.ndarray], np.ndarray]
"""Called with every measurement as it comes in, returns the inputs to apply."""


def jacobians(plant: SimulatedPlant, state: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of the equations of motion by state and input, from central differences."""
    scale = np.maximum(1e-6, 1e-6 * np.abs(state))
    a = [
        (plant.derivative(state + h * e, u) - plant.derivative(state - h * e, u)) / (2 * h)
        for h, e in zip(scale, np.eye(len(state)), strict=True)
    ]
    b = [(plant.derivative(state, u + h) - plant.derivative(state, u - h)) / 2e-6 for h in 1e-6 * np.eye(len(u))]
    return np.array(a).T, np.array(b).T


def discrete(a: np.ndarray, b: np.ndarray, sampling_time: float, latency: float) -> tuple[np.ndarray, np.ndarray]:
    """One sample of a linear machine whose inputs arrive late; the past inputs that are on their way join the state."""
    n, m = b.shape
    full = np.block([[a, b], [np.zeros((m, n + m))]])
    samples, rest = divmod(latency, sampling_time)
    older, newer = expm(full * rest), expm(full * (sampling_time - rest))
    waiting = int(samples) + (rest > 0)
    f, g = np.zeros((n + waiting * m,) * 2), np.zeros((n + waiting * m, m))
    f[:n, :n] = newer[:n, :n] @ older[:n, :n]
    effects = [newer[:n, :n] @ older[:n, n:], newer[:n, n:]] if rest else [newer[:n, n:]]
    for i, effect in enumerate(effects):  # the oldest input first; what waits is stored from old to new
        (f[:n, n + i * m : n + (i + 1) * m] if i < waiting else g[:n])[:] = effect
    if waiting:
        f[n:-m, n + m :] += np.eye((waiting - 1) * m)
        g[-m:] = np.eye(m)
    return f, g


def optimal_gain(f: np.ndarray, g: np.ndarray, weights: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """The gain of a linear-quadratic regulator in discrete time."""
    p = solve_discrete_are(f, g, weights, effort)
    return np.linalg.solve(effort + g.T @ p @ g, g.T @ p @ f)


class Gains(NamedTuple):
    """What a person tunes of a swing-up."""

    energy: float = 8.0
    """Force per energy that is missing, N/J."""
    position: float = 20.0
    """Force towards the middle, N/m."""
    speed: float = 3.0
    """Force against the cart's speed, N s/m."""
    near: float = 0.6
    """How near to upright the pole is caught, rad."""
    slow: float = 5.0
    """How slowly it has to turn then, rad/s."""
    weights: tuple[float, ...] = (10.0, 20.0, 1.0, 1.0)
    """What deviations cost the regulator that holds it: positions, then velocities."""


class SwingUp:
    """Swings a cart-pole up by its energy and holds it by a regulator, both for the state when the input arrives.

    It knows the machine's equations, without the play of the drive, and corrects their prediction by what is measured.
    """

    def __init__(self, task: Task, gains: Gains = Gains()) -> None:  # noqa: B008 (immutable)
        plant: Any = connect(task)
        self.gains = gains
        self.model = CartPole(plant.sampling_time, plant.sensor, latency=plant.latency, substeps=4)
        self.model.cart_mass = plant.cart_mass + getattr(plant, "drive_mass", 0.0)
        f, g = discrete(*jacobians(self.model, np.array([0, np.pi, 0, 0]), np.zeros(1)), plant.sampling_time, 0.0)
        self.gain = optimal_gain(f, g, np.diag(gains.weights), np.array([[0.3]]))[0]
        self.limit = task.machine.limits[0]
        self.reset()

    def reset(self) -> SwingUp:
        """Begin a trial."""
        self.sent: list[np.ndarray] = []
        return self

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The input for the measured positions."""
        model = self.model
        if not self.sent:
            model.reset(0)
            model.state[:2] = q
            self.sent = [np.zeros(1)] * 3
        else:
            model.step(self.sent[-1])
            error = q - model.state[:2]
            model.state += np.concatenate([0.5 * error, 0.25 * error / model.sampling_time])
        p, alpha, dp, dalpha = self.when_it_arrives()
        upright, gains = alpha - np.pi * np.sign(alpha), self.gains
        if abs(upright) < gains.near and abs(dalpha) < gains.slow:
            u = -self.gain @ [p, upright, dp, dalpha]
        else:
            weight = model.pole_mass * model.pole_length * model.gravity
            energy = model.pole_mass * model.pole_length**2 / 6 * dalpha**2 - weight / 2 * (np.cos(alpha) + 1)
            u = gains.energy * energy * np.sign(dalpha * np.cos(alpha)) - gains.position * p - gains.speed * dp
        self.sent.append(np.clip([u], -self.limit, self.limit))
        return self.sent[-1]

    def when_it_arrives(self) -> np.ndarray:
        """The state after the latency, under the inputs that are on their way."""
        state, h = self.model.state, self.model.sampling_time
        samples, rest = divmod(self.model.latency, h)
        for i, duration in enumerate([rest, *[h] * int(samples)]):
            u = self.sent[i - int(samples) - 1]
            for _ in range(3):
                state = runge_kutta(self.model.derivative, state, u, duration / 3)
        return state


class PlateRegulator:
    """Tilts a plate for a damped return of its ball, as fast as the motors may turn; the gains were tuned by hand."""

    def __init__(self, task: Task) -> None:
        self.limits, self.sampling_time, self.last = task.machine.limits, task.machine.sampling_time, None

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The inputs for the measured positions."""
        ball, motors = q[:2], q[2:]
        velocity = (ball - (ball if self.last is None else self.last)) / self.sampling_time
        self.last = ball.copy()
        return np.clip(-4.0 * ball - 2.4 * velocity - motors, -self.limits, self.limits)


FAST = Gains(13.4, 28.9, 6.4, 0.78, 10.5, (16.0, 20.0, 6.7, 0.14))
"""For the cart-pole, which has two seconds to swing up."""
CONTROLLERS: dict[str, Callable[[Task], Controller]] = {
    "cartpole": partial(SwingUp, gains=FAST),
    "ballplate": PlateRegulator,
}
"""The controllers by task."""


def run(task_name: str, seed: int) -> Attempt:
    """Execute the controller of a task once; it needs no experience."""
    task = load(task_name)
    with connected(task) as plant:
        trial = execute(task, plant, CONTROLLERS[task_name](task), seed)
    return Attempt(task.evaluate(trial.evaluated, trial.reached).success, 0.0, 0.0, 1)
