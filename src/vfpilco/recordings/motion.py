"""How likely a recording is under a small model of how its positions move: the ground for delay and noise.

The second difference of a measured position is that of the movement and that of the measurement errors,

    y_t = q_{t+1} - 2 q_t + q_{t-1} = f(q_t, q'_t, u_{t-d}, u_{t-d-1}) + e_{t+1} - 2 e_t + e_{t-1},

with two inputs because what is held during an interval moves the positions at its end and at the end of the next. f has
a Gaussian prior: linear in a few terms of mechanics (sine and cosine of angles, speeds, inputs), and linear in speeds
and inputs with coefficients that change smoothly from place to place. The errors are white, grow with the speed where
the clock is uneven, and leave a pattern in y (1, -2, 1) that no movement has: so noise and movement come apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import minimize

MOST_DELAY = 5
FIRST = MOST_DELAY + 1
"""The first sample with all past inputs that any delay needs."""
WIDE = 1.0
"""Prior variance of linear terms, with y and all terms scaled to 1: it says next to nothing."""
USUAL = np.log([1.0, 0.1, 0.1, 0.1, 0.1, 0.003, 0.003])
"""Where the prior of the logarithms below has its centre."""
SPREAD = np.array([1.0, 1.0, 1.0, 1.0, 3.0, 2.0, 2.0])
STARTS = (USUAL, np.log([1.0, 0.1, 0.1, 0.1, 0.01, 0.1, 0.003]))
"""Errors of the sensor or errors of the clock: from one explanation the way to the other is not always found."""
NONE = -6.5
"""Noise whose logarithm is below this, relative to the movement, cannot be told from none."""
BOUNDS = [(-2.0, 4.0)] + [(-7.0, 4.0)] * 6


@dataclass(frozen=True)
class Evidence:
    """How well a model with some delay explains one position of a recording."""

    log: float
    """Logarithm of the (unnormalised) probability of the data."""
    noise: float
    """Standard deviation of the measurement errors at rest; 0 if none are seen."""
    timing: float
    """Standard deviation of the sampling instants, in sampling times."""
    errors: np.ndarray
    """The most probable measurement errors, sample by sample from the first one explained."""
    start: np.ndarray
    """The start that this was found from."""


@dataclass(frozen=True)
class Terms:
    """What the movement may depend on, row by row of y, as Gram matrices."""

    distance: np.ndarray
    """Squared, between places."""
    linear: np.ndarray
    speeds: np.ndarray
    inputs: np.ndarray
    speed: np.ndarray
    """Of every sample (n, d_q), per sampling time."""

    @classmethod
    def of(cls, q: np.ndarray, u: np.ndarray, angles: tuple[bool, ...], delay: int | None) -> Terms:
        """The terms of positions (n, d_q) and inputs (n, d_u) under a delay; None: the inputs do nothing."""
        t = np.arange(FIRST, len(q) - 1)
        speed = np.gradient(q, axis=0)
        places, known, directions = [], [], [np.ones(len(t))]
        for i, angle in enumerate(angles):
            if angle:
                sin, cos = np.sin(q[t, i]), np.cos(q[t, i])
                places += [sin, cos]
                known += [sin, cos, sin * cos, sin * speed[t, i] ** 2, sin * cos * speed[t, i] ** 2]
                directions += [cos, cos**2]
            else:
                places.append((q[t, i] - q[t, i].mean()) / max(q[t, i].std(), 1e-300))
                known.append(places[-1])
        v = list(speed[t].T)
        products = [v[i] * v[j] for i in range(len(v)) for j in range(i, len(v))]
        x, rates = np.array(places).T, _unit(np.array(v + products).T)
        linear = _unit(np.array(known + v).T)
        past = _driving(_unit(u), t, delay)
        pushes = np.concatenate([past * direction[:, None] for direction in directions], axis=1)
        return cls(
            ((x[:, None] - x[None]) ** 2).sum(-1),
            WIDE * (1 + linear @ linear.T + pushes @ pushes.T),
            rates @ rates.T / rates.shape[1],
            past @ past.T / past.shape[1],
            speed,
        )


def evidence(q: np.ndarray, terms: Terms, i: int, starts: Sequence[np.ndarray] = STARTS) -> Evidence:
    """The evidence of position `i`, at the most probable scales of movement and noise found from some starts."""
    second = q[FIRST + 1 :, i] - 2 * q[FIRST:-1, i] + q[FIRST - 1 : -2, i]
    scale = float(second.std())
    y = second / scale
    pattern = np.zeros((len(y), len(y) + 2))
    for offset, value in enumerate((1.0, -2.0, 1.0)):
        pattern[np.arange(len(y)), np.arange(len(y)) + offset] = value
    speed = terms.speed[FIRST - 1 : FIRST + 1 + len(y), i] ** 2
    usual = max(float(speed.mean()), 1e-300)
    errors, uneven = pattern @ pattern.T, (pattern * (speed / usual)) @ pattern.T
    known, options = (y, terms, errors, uneven), {"maxiter": 60}
    tries = [minimize(_cost, s, known, "L-BFGS-B", jac=True, bounds=BOUNDS, options=options) for s in starts]
    best = int(np.argmin([found.fun for found in tries]))
    found = tries[best]
    noise, timing = scale * np.exp(found.x[4:6])
    if found.x[4] < NONE:
        noise = 0.0
    weights = np.linalg.solve(_covariance(found.x, *known)[0], y)
    variance = np.exp(2 * found.x[4]) + np.exp(2 * found.x[5]) * speed / usual
    left = scale * variance * (pattern.T @ weights)
    return Evidence(-float(found.fun), float(noise), float(timing / np.sqrt(usual)), left, starts[best])


def _covariance(logs: np.ndarray, y: np.ndarray, terms: Terms, errors: np.ndarray, uneven: np.ndarray):
    """The covariance of y, and what it is made of: nearness of places, and coefficients there."""
    length, level, rate, drive, noise, timing, rest = np.exp(2 * logs)
    near = np.exp(-0.5 * terms.distance / length)
    local = level + rate * terms.speeds + drive * terms.inputs
    covariance = near * local + terms.linear + noise * errors + timing * uneven
    covariance[np.diag_indices(len(y))] += rest + 1e-8
    return covariance, near, local


def _cost(logs: np.ndarray, y: np.ndarray, terms: Terms, errors: np.ndarray, uneven: np.ndarray):
    """Negative log posterior of the scales and its gradient."""
    length, level, rate, drive, noise, timing, rest = np.exp(2 * logs)
    covariance, near, local = _covariance(logs, y, terms, errors, uneven)
    root, failed = dpotrf(covariance, lower=1)
    if failed:
        return 1e10, np.zeros(len(logs))
    inverse = np.tril(dpotri(root, lower=1)[0])
    inverse += np.tril(inverse, -1).T
    weights = inverse @ y
    slope = inverse - np.outer(weights, weights)
    place = slope * near
    gradient = [
        0.5 * np.sum(place * local * terms.distance) / length,
        level * place.sum(),
        rate * np.sum(place * terms.speeds),
        drive * np.sum(place * terms.inputs),
        noise * np.sum(slope * errors),
        timing * np.sum(slope * uneven),
        rest * np.trace(slope),
    ]
    off = (logs - USUAL) / SPREAD
    value = 0.5 * y @ weights + np.log(np.diag(root)).sum() + 0.5 * off @ off
    return float(value), np.array(gradient) + off / SPREAD


def _driving(u: np.ndarray, t: np.ndarray, delay: int | None) -> np.ndarray:
    """The inputs that move the positions at times t, under a delay.

    Logged a line late (-1), they move them by the mean of two. With a weight of its own for either, inputs that answer
    to the positions would be taken for their cause: u_{t+1} then knows q_{t+1}, with its measurement error.
    """
    if delay is None:
        return np.zeros((len(t), 1))
    if delay < 0:
        return (u[t + 1] + u[t]) / 2
    return np.concatenate([u[t - delay], u[t - delay - 1]], axis=1)


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to a root mean square of 1."""
    return columns / np.maximum(np.sqrt((columns**2).mean(0)), 1e-300)
