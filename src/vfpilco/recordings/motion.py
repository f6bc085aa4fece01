"""The evidence of a recording under a small model of its motion, from which delay and noise are estimated.

The second difference of a measured position is that of the motion plus that of the measurement errors,

    y_t = q_{t+1} - 2 q_t + q_{t-1} = f(q_t, q'_t, u_{t-d}, u_{t-d-1}) + e_{t+1} - 2 e_t + e_{t-1},

with two inputs because an input held during an interval moves the positions at its end and at the end of the next. f
has a Gaussian prior: linear in a few terms of mechanics (sine and cosine of angles, speeds, inputs), and linear in
speeds and inputs with coefficients that change smoothly with the positions. The errors are white, grow with the speed
if the sampling instants are irregular, and leave a pattern (1, -2, 1) in y that motion does not have: this separates
noise from motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import minimize

MOST_DELAY = 5
FIRST = MOST_DELAY + 1
"""The first sample for which all past inputs are known that any delay needs."""
WIDE = 1.0
"""Prior variance of linear terms, with y and all terms scaled to 1: the prior is almost uninformative."""
PRIOR_MEAN = np.log([1.0, 0.1, 0.1, 0.1, 0.1, 0.003, 0.003])
"""Prior mean of the logarithms of length, level, rate, drive, noise, timing and rest, as `_covariance` uses them."""
PRIOR_STD = np.array([1.0, 1.0, 1.0, 1.0, 3.0, 2.0, 2.0])
STARTS = (PRIOR_MEAN, np.log([1.0, 0.1, 0.1, 0.1, 0.01, 0.1, 0.003]))
"""Errors of the sensor, or errors of the clock: the optimiser does not always find its way from one to the other."""
NEGLIGIBLE = -6.5
"""Noise whose logarithm, relative to the motion, is below this cannot be distinguished from zero."""
BOUNDS = [(-2.0, 4.0)] + [(-7.0, 4.0)] * 6


@dataclass(frozen=True)
class Evidence:
    """How well the model with a certain delay explains one position of a recording."""

    log: float
    """Logarithm of the (unnormalised) probability of the data."""
    noise: float
    """Standard deviation of the measurement errors at rest; 0 if there are none."""
    timing: float
    """Standard deviation of the sampling instants, in sampling times."""
    errors: np.ndarray
    """The most probable measurement errors, sample by sample from the first one that the model explains."""
    start: np.ndarray
    """The start of the optimisation that found it."""


@dataclass(frozen=True)
class Terms:
    """What the motion may depend on, row by row of y, as Gram matrices."""

    distance: np.ndarray
    """Squared distance between positions."""
    linear: np.ndarray
    speeds: np.ndarray
    inputs: np.ndarray
    speed: np.ndarray
    """The speed at every sample (n, d_q), per sampling time."""

    @classmethod
    def of(cls, q: np.ndarray, u: np.ndarray, angles: tuple[bool, ...], delay: int | None) -> Terms:
        """The terms of positions (n, d_q) and inputs (n, d_u) under a delay; None: inputs have no effect."""
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
    """The evidence of position `i`, at the most probable scales of motion and noise that are found from the starts."""
    second = q[FIRST + 1 :, i] - 2 * q[FIRST:-1, i] + q[FIRST - 1 : -2, i]
    scale = float(second.std())
    y = second / scale
    pattern = np.zeros((len(y), len(y) + 2))
    for offset, value in enumerate((1.0, -2.0, 1.0)):
        pattern[np.arange(len(y)), np.arange(len(y)) + offset] = value
    speed = terms.speed[FIRST - 1 : FIRST + 1 + len(y), i] ** 2
    mean_speed = max(float(speed.mean()), 1e-300)
    errors, uneven = pattern @ pattern.T, (pattern * (speed / mean_speed)) @ pattern.T
    known, options = (y, terms, errors, uneven), {"maxiter": 60}
    tries = [minimize(_cost, s, known, "L-BFGS-B", jac=True, bounds=BOUNDS, options=options) for s in starts]
    best = int(np.argmin([found.fun for found in tries]))
    found = tries[best]
    noise, timing = scale * np.exp(found.x[4:6])
    if found.x[4] < NEGLIGIBLE:
        noise = 0.0
    weights = np.linalg.solve(_covariance(found.x, *known)[0], y)
    variance = np.exp(2 * found.x[4]) + np.exp(2 * found.x[5]) * speed / mean_speed
    left = scale * variance * (pattern.T @ weights)
    return Evidence(-float(found.fun), float(noise), float(timing / np.sqrt(mean_speed)), left, starts[best])


def _covariance(logs: np.ndarray, y: np.ndarray, terms: Terms, errors: np.ndarray, uneven: np.ndarray):
    """The covariance of y, the similarity of positions in it, and the covariance of the coefficients there."""
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
    cotangent = inverse - np.outer(weights, weights)  # twice the derivative with respect to the covariance
    place = cotangent * near
    gradient = [
        0.5 * np.sum(place * local * terms.distance) / length,
        level * place.sum(),
        rate * np.sum(place * terms.speeds),
        drive * np.sum(place * terms.inputs),
        noise * np.sum(cotangent * errors),
        timing * np.sum(cotangent * uneven),
        rest * np.trace(cotangent),
    ]
    deviation = (logs - PRIOR_MEAN) / PRIOR_STD
    value = 0.5 * y @ weights + np.log(np.diag(root)).sum() + 0.5 * deviation @ deviation
    return float(value), np.array(gradient) + deviation / PRIOR_STD


def _driving(u: np.ndarray, t: np.ndarray, delay: int | None) -> np.ndarray:
    """The inputs that move the positions at times t, under a delay.

    Inputs logged one line late (-1) act by the mean of two. With a weight of its own for each, inputs that are computed
    from the positions would be mistaken for their cause: u_{t+1} depends on q_{t+1} with its measurement error.
    """
    if delay is None:
        return np.zeros((len(t), 1))
    if delay < 0:
        return (u[t + 1] + u[t]) / 2
    return np.concatenate([u[t - delay], u[t - delay - 1]], axis=1)


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to a root mean square of 1."""
    return columns / np.maximum(np.sqrt((columns**2).mean(0)), 1e-300)
