"""The evidence of a recording under a small model of its motion, from which delay and noise are estimated.

The second difference of a measured position is that of the motion plus that of the measurement errors,

    y_t = q_{t+1} - 2 q_t + q_{t-1} = f(q_t, q_{t-1}, q_{t-2}, u_{t-d}, u_{t-d-1}) + e_{t+1} - 2 e_t + e_{t-1},

with two inputs because an input held during an interval moves the positions at its end and at the end of the next. f
has a Gaussian prior: linear in a few terms of mechanics (sine and cosine of angles, speeds, inputs), and linear in
speeds and inputs with coefficients that change smoothly with the positions. The errors are white, grow with the speed
if the sampling instants are irregular, and leave a pattern (1, -2, 1) in y that motion does not have: this separates
noise from motion.

Unless the inputs are known not to depend on the measurements, everything that y_t is explained by is known at sample t,
and the last positions are among it. An input that a controller computes from them then adds nothing to what they
explain, and is not mistaken for a cause of the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import minimize

SEARCHED = 6
"""The longest delay that is compared, in samples."""
FIRST = SEARCHED + 2
"""The first sample for which all past inputs are known that any delay needs."""
WIDE = 1.0
"""Prior variance of linear terms, with y and all terms scaled to 1: the prior is almost uninformative."""
PRIOR_MEAN = np.log([0.1, 0.1, 0.1, 0.1, 0.003, 0.003])
"""Prior mean of the logarithms of level, rate, drive, noise, timing and rest; `_covariance` says what they are."""
PRIOR_STD = np.array([1.0, 1.0, 1.0, 3.0, 2.0, 2.0])
STARTS = (PRIOR_MEAN, np.log([0.1, 0.1, 0.1, 0.01, 0.1, 0.003]))
"""Errors of the sensor, or errors of the clock: the optimiser does not always find its way from one to the other."""
NEGLIGIBLE = -6.5
"""Noise whose logarithm, relative to the motion, is below this cannot be distinguished from zero."""
LEAST = -9.0
"""The least logarithm of a noise that is compared with that of a declared sensor."""
SCALES = len(PRIOR_MEAN)
"""How many scales there are; a length for each position follows, with a prior mean of 1 and a standard deviation of 1
in its logarithm."""
STEPS = 60
"""Of the optimisation, at most."""


@dataclass(frozen=True)
class Evidence:
    """How well the model with a certain delay explains one position of a recording."""

    logs: np.ndarray
    """Logarithm of the probability density of every explained sample, given the ones before it."""
    noise: float
    """Standard deviation of the measurement errors at rest; 0 if there are none."""
    timing: float
    """Standard deviation of the sampling instants, in sampling times."""
    errors: np.ndarray
    """The most probable measurement errors, sample by sample from the first one that the model explains."""
    scales: np.ndarray
    """The most probable scales of motion and noise."""
    cost: float = 0.0
    """The negative logarithm of their posterior density, up to a constant."""


@dataclass(frozen=True)
class Level:
    """What is known of the noise of a sensor beforehand, in the unit of the position."""

    expected: float
    """The most probable standard deviation; 0 if none is more probable than others."""
    within: tuple[float, float] | None = None
    """Its range; None: any."""

    def prior_mean(self, scale: float) -> np.ndarray:
        """The prior mean of the scales for a second difference of that size."""
        if not self.expected:
            return PRIOR_MEAN
        return np.concatenate([PRIOR_MEAN[:3], [max(np.log(self.expected / scale), LEAST)], PRIOR_MEAN[4:]])

    @property
    def negligible(self) -> float:
        """Noise whose logarithm is below this cannot be distinguished from zero."""
        return LEAST + 0.1 if self.expected else NEGLIGIBLE

    def bounds(self, scale: float) -> tuple[float, float]:
        """The range of the logarithm, likewise."""
        if self.within is None:
            return LEAST, 4.0
        low, high = np.log(np.maximum(np.array(self.within) / scale, np.exp(LEAST)))
        return float(low), float(high)


@dataclass(frozen=True)
class Motion:
    """What the positions and inputs of a recording are explained by, apart from the delay."""

    q: np.ndarray
    u: np.ndarray
    """The inputs, scaled to a root mean square of 1."""
    speed: np.ndarray
    """The last change of every position."""
    places: tuple[np.ndarray, ...]
    """Each position, an angle as sine and cosine."""
    linear: np.ndarray
    """Terms with constant coefficients."""
    rates: np.ndarray
    """Speeds and their products."""
    directions: np.ndarray
    """What the effect of an input may be proportional to."""

    @classmethod
    def of(cls, q: np.ndarray, u: np.ndarray, angles: tuple[bool, ...], open_loop: bool) -> Motion:
        """The terms of positions (n, d_q) and inputs (n, d_u).

        In open loop, where inputs do not depend on measurements, speeds are more precise with the next position.
        """
        t = np.arange(FIRST, len(q) - 1)
        speed = np.gradient(q, axis=0) if open_loop else np.diff(q, axis=0, prepend=q[:1])
        places, known, directions = [], [], [np.ones(len(t))]
        for i, angle in enumerate(angles):
            level = (q[t, i] - q[t, i].mean()) / max(q[t, i].std(), 1e-300)
            known += [level, speed[t, i] - speed[t - 1, i]] if not open_loop else [] if angle else [level]
            if angle:
                sin, cos = np.sin(q[t, i]), np.cos(q[t, i])
                places.append(np.stack([sin, cos], 1))
                known += [sin, cos, sin * cos, sin * speed[t, i] ** 2, sin * cos * speed[t, i] ** 2]
                directions.append(cos)
            else:
                places.append(level[:, None])
        v = list(speed[t].T)
        products = [v[i] * v[j] for i in range(len(v)) for j in range(i, len(v))]
        rates = _unit(np.array(v + products).T)
        return cls(q, _unit(u), speed, tuple(places), _unit(np.array(known + v).T), rates, np.array(directions).T)


@dataclass(frozen=True)
class Terms:
    """What the motion may depend on, row by row of y, as Gram matrices."""

    distances: np.ndarray
    """Squared distance in each position, (d_q, n, n)."""
    linear: np.ndarray
    speeds: np.ndarray
    inputs: np.ndarray

    @classmethod
    def of(cls, motion: Motion, rows: np.ndarray, lags: Sequence[int]) -> Terms:
        """The terms at the chosen rows of y, if inputs with these lags have an effect."""
        linear, rates = motion.linear[rows], motion.rates[rows]
        past = _driving(motion.u, FIRST + rows, lags)
        pushes = (past[:, :, None] * motion.directions[rows][:, None]).reshape(len(rows), -1)
        return cls(
            np.array([((x[rows][:, None] - x[rows][None]) ** 2).sum(-1) for x in motion.places]),
            WIDE * (1 + linear @ linear.T + pushes @ pushes.T),
            rates @ rates.T / rates.shape[1],
            past @ past.T / max(past.shape[1], 1),
        )


def evidence(
    motion: Motion,
    i: int,
    rows: np.ndarray,
    lags: Sequence[int],
    starts: Sequence[np.ndarray] = STARTS,
    steps: int = STEPS,
    level: Level | None = None,
) -> Evidence:
    """The evidence of position `i`, at the most probable scales of motion and noise that are found from the starts.

    Args:
        motion: The recording.
        i: The position.
        rows: Which samples are explained, counted from `FIRST`.
        lags: How many samples late the inputs are that have an effect.
        starts: Where the optimisation starts.
        steps: Its steps, at most.
        level: What is known of the noise beforehand; None: next to nothing.
    """
    t = FIRST + rows
    terms = Terms.of(motion, rows, lags)
    second = motion.q[t + 1, i] - 2 * motion.q[t, i] + motion.q[t - 1, i]
    scale = max(float(second.std()), 1e-300)
    y = second / scale
    pattern = np.zeros((len(y), len(motion.q) - FIRST + 1))
    for offset, value in enumerate((1.0, -2.0, 1.0)):
        pattern[np.arange(len(y)), rows + offset] = value
    speed = np.gradient(motion.q[:, i])[FIRST - 1 :] ** 2
    mean_speed = max(float(speed.mean()), 1e-300)
    errors, uneven = pattern @ pattern.T, (pattern * (speed / mean_speed)) @ pattern.T
    known, options = (y, terms, errors, uneven), {"maxiter": steps}
    bounds = [(-7.0, 4.0)] * SCALES + [(-2.0, 4.0)] * len(motion.places)
    prior_mean = PRIOR_MEAN
    if level is not None:
        prior_mean, bounds[3] = level.prior_mean(scale), level.bounds(scale)
    begins = [np.concatenate([s, np.zeros(SCALES + len(motion.places) - len(s))]) for s in starts]
    begins = begins if level is None else [np.clip(s, *np.array(bounds).T) for s in begins]
    given = (*known, prior_mean)
    tries = [minimize(_cost, s, given, "L-BFGS-B", jac=True, bounds=bounds, options=options) for s in begins]
    found = min(tries, key=lambda one: one.fun)
    noise, timing = scale * np.exp(found.x[3:5])
    if found.x[3] < (NEGLIGIBLE if level is None else level.negligible):
        noise = 0.0
    root = np.linalg.cholesky(_covariance(found.x, *known)[0])
    white = solve_triangular(root, y, lower=True)
    variance = np.exp(2 * found.x[3]) + np.exp(2 * found.x[4]) * speed / mean_speed
    left = scale * variance * (pattern.T @ solve_triangular(root, white, lower=True, trans=1))
    logs = -0.5 * white**2 - np.log(np.diag(root))
    return Evidence(logs, float(noise), float(timing / np.sqrt(mean_speed)), left, found.x, float(found.fun))


def _covariance(logs: np.ndarray, y: np.ndarray, terms: Terms, errors: np.ndarray, uneven: np.ndarray):
    """The covariance of y, the similarity of positions in it, and the covariance of the coefficients there."""
    level, rate, drive, noise, timing, rest, *lengths = np.exp(2 * logs)
    near = np.exp(-0.5 * np.tensordot(1 / np.array(lengths), terms.distances, 1))
    local = level + rate * terms.speeds + drive * terms.inputs
    covariance = near * local + terms.linear + noise * errors + timing * uneven
    covariance[np.diag_indices(len(y))] += rest + 1e-8
    return covariance, near, local


def _cost(
    logs: np.ndarray, y: np.ndarray, terms: Terms, errors: np.ndarray, uneven: np.ndarray, prior_mean: np.ndarray
):
    """Negative log posterior of the scales and its gradient."""
    level, rate, drive, noise, timing, rest, *lengths = np.exp(2 * logs)
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
        level * place.sum(),
        rate * np.sum(place * terms.speeds),
        drive * np.sum(place * terms.inputs),
        noise * np.sum(cotangent * errors),
        timing * np.sum(cotangent * uneven),
        rest * np.trace(cotangent),
        *(0.5 * np.tensordot(terms.distances, place * local, 2) / lengths),
    ]
    deviation = np.concatenate([(logs[:SCALES] - prior_mean) / PRIOR_STD, logs[SCALES:]])
    value = 0.5 * y @ weights + np.log(np.diag(root)).sum() + 0.5 * deviation @ deviation
    return float(value), np.array(gradient) + deviation / np.concatenate([PRIOR_STD, np.ones(len(lengths))])


def _driving(u: np.ndarray, t: np.ndarray, lags: Sequence[int]) -> np.ndarray:
    """The inputs that move the positions at times t, (n, d_u · lags).

    Inputs logged one line late (-1) act by the mean of two. With a weight of its own for each, inputs that are computed
    from the positions would be mistaken for their cause: u_{t+1} depends on q_{t+1} with its measurement error.
    """
    if -1 in lags:
        return (u[t + 1] + u[t]) / 2
    return np.concatenate([u[t - lag] for lag in lags], axis=1) if lags else np.zeros((len(t), 1))


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to a root mean square of 1."""
    return columns / np.maximum(np.sqrt((columns**2).mean(0)), 1e-300)
