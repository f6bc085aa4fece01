"""States with velocities: estimated by filters (MC-PILCO4PMS), or given by the plant (MC-PILCO).

Online, while a trial runs, a velocity is estimated from the measurements so far, on the plant and in every particle
alike. Offline, for the model, it is estimated from the whole trial, past and future. The GPs predict the change of the
velocity, and positions integrate it: q_{t+1} = q_t + T_s v_t + T_s/2 Δv_t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.signal import butter, filtfilt

from vfpilco.memory import Entry, Memory, seen, window_memory
from vfpilco.representation import Command, Features, TrainingSet, expand, expanded_kinds, predicted
from vfpilco.trial import Trial


class State(NamedTuple):
    """Positions and velocities, (…, d_q) each."""

    q: Any
    v: Any


@dataclass(frozen=True)
class FullState:
    """State representation of MC-PILCO: true positions and velocities, which only a simulated plant can give."""

    angles: tuple[bool, ...]
    d_u: int
    sampling_time: float
    commands: tuple[Command, ...] = ()
    """The positions that follow an input and need no GP; their velocity is that of the last sample."""
    features: Features | None = None
    """What the GPs see besides."""

    @property
    def full_state(self) -> bool:
        """The true state is measured."""
        return True

    @property
    def d_q(self) -> int:
        """The number of positions."""
        return len(self.angles)

    @property
    def predicted(self) -> Any:
        """Which positions' velocities GPs predict: an index of the last dimension."""
        return predicted(self.d_q, self.commands) if self.commands else slice(None)

    # -- the state of the dynamics -------------------------------------------------------------------------------

    def rest(self, q: Any) -> State:
        """No velocity."""
        return State(q, q * 0)

    def positions(self, state: State) -> Any:
        """The positions."""
        return state.q

    def measured(self, state: State, e: Any) -> Any:
        """Positions and velocities, without an error."""
        return state.q.__array_namespace__().concat([state.q, state.v], axis=-1)

    def gp_input(self, state: State, u: Any) -> Any:
        """Positions (angles as sine and cosine), velocities, inputs, features."""
        xp = u.__array_namespace__()
        known = [self.features.of(state.q, state.v, u)] if self.features else []
        return xp.concat([*expand(state.q, self.angles), state.v, u, *known], axis=-1)

    def prior_mean(self, state: State) -> Any:
        """No change of the velocity."""
        return state.v[..., self.predicted] * 0

    def advance(self, state: State, u: Any, change: Any) -> State:
        """Positions integrate the velocity, which changes linearly; commanded ones go where their input says."""
        h, (q, v) = self.sampling_time, state
        if not self.commands:
            return State(q + h * v + h / 2 * change, v + change)
        xp, free = q.__array_namespace__(), predicted(self.d_q, self.commands)
        moved, speed = ([column[..., i] for i in range(self.d_q)] for column in state)
        for k, i in enumerate(free):
            moved[i] = q[..., i] + h * v[..., i] + h / 2 * change[..., k]
            speed[i] = v[..., i] + change[..., k]
        for command in self.commands:
            i = command.position
            moved[i] = command.reached(q, u)
            speed[i] = (moved[i] - q[..., i]) / h
        return State(xp.stack(moved, axis=-1), xp.stack(speed, axis=-1))

    # -- what the controller remembers ---------------------------------------------------------------------------

    def begin(self, measured: Any) -> State:
        """The measured state."""
        return State(measured[..., : self.d_q], measured[..., self.d_q :])

    def push(self, memory: Any, measured: Any, u: Any) -> Any:
        """The measured state; no past is needed."""
        return self.begin(measured)

    def estimate(self, memory: Any) -> State:
        """The state as the controller knows it."""
        return memory

    def policy_input(self, memory: Any) -> Any:
        """Positions (angles as sine and cosine) and velocities."""
        q, v = self.estimate(memory)
        return v.__array_namespace__().concat([*expand(q, self.angles), v], axis=-1)

    def remembered(self) -> Memory:
        """The measured state alone."""
        velocities = [Entry(0, self.d_q + i) for i in range(self.d_q)]
        return window_memory(self.angles + (False,) * self.d_q, 1, [*seen(self.angles, 0), *velocities])

    # -- what is learned from ------------------------------------------------------------------------------------

    def rows(self, steps: int) -> int:
        """One pair per pair of neighbouring states."""
        return steps

    def states(self, trial: Trial) -> tuple[np.ndarray, State]:
        """Every sample."""
        assert trial.true is not None
        assert trial.velocity is not None
        return np.arange(trial.steps + 1), State(trial.true, trial.velocity)

    def training_set(self, trial: Trial) -> TrainingSet:
        """GP inputs and velocity changes of one trial."""
        t, (q, v) = self.states(trial)
        x = self.gp_input(State(q[:-1], v[:-1]), trial.u[t[:-1]])
        change = (v[1:] - v[:-1])[:, self.predicted]
        return TrainingSet(x, change, np.zeros_like(change))

    def least_noise(self, noise: Sequence[float]) -> list[float]:
        """None: the state is true."""
        return [0.0] * len(predicted(self.d_q, self.commands))

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃, x*'s first."""
        known = ["feature"] * (self.features.count if self.features else 0)
        return expanded_kinds(self.angles) + ["rate"] * self.d_q + ["input"] * self.d_u + known


@dataclass(frozen=True)
class Filtered(FullState):
    """State representation of MC-PILCO4PMS: positions and velocities estimated from measured positions.

    The online filter of position j is linear: its memory m is moved by m ← A_j m + b_j q̄, the first entry of m is the
    position and the last one the velocity.
    """

    a: tuple[tuple[tuple[float, ...], ...], ...] = ()
    b: tuple[tuple[float, ...], ...] = ()
    offline: LowPass | KalmanSmoother | None = None

    @property
    def full_state(self) -> bool:
        """Only positions are measured."""
        return False

    def measured(self, state: State, e: Any) -> Any:
        """The positions through the sensor."""
        return state.q + e

    def begin(self, measured: Any) -> Any:
        """At rest in the first measurement: the filters' memories, (…, d_q, n)."""
        xp = measured.__array_namespace__()
        return xp.stack([measured] + [measured * 0] * (len(self.b[0]) - 1), axis=-1)

    def push(self, memory: Any, measured: Any, u: Any) -> Any:
        """One step of the online filters."""
        xp = measured.__array_namespace__()
        a, b = xp.asarray(self.a, dtype=measured.dtype), xp.asarray(self.b, dtype=measured.dtype)
        return (a * memory[..., None, :]).sum(-1) + b * measured[..., None]

    def estimate(self, memory: Any) -> State:
        """The filtered positions and velocities."""
        return State(memory[..., 0], memory[..., -1])

    def remembered(self) -> Memory:
        """The last measurement, and below it the filters' memories: position first, velocity last."""
        a, b = np.array(self.a, dtype=float), np.array(self.b, dtype=float)
        velocities = [Entry(b.shape[1], i) for i in range(self.d_q)]
        return Memory(self.angles, 1, (*seen(self.angles, 1), *velocities), a, b)

    def rows(self, steps: int) -> int:
        """The first and the last sample have no velocity."""
        return steps - 2

    def states(self, trial: Trial) -> tuple[np.ndarray, State]:
        """Every sample but the first and the last, smoothed."""
        assert self.offline is not None
        q, v = self.offline.smooth(trial.q, self.sampling_time)
        for command in self.commands:
            i = command.position
            q[:, i] = trial.q[:, i]
            v[1:, i] = np.diff(trial.q[:, i]) / self.sampling_time
        return np.arange(1, trial.steps), State(q[1:-1], v[1:-1])

    def least_noise(self, noise: Sequence[float]) -> list[float]:
        """What the offline filter leaves of the sensors' noise in a change of the velocity."""
        assert self.offline is not None
        impulse = np.zeros((101, self.d_q))
        impulse[50] = noise
        change = np.diff(self.offline.smooth(impulse, self.sampling_time)[1], axis=0)
        return np.linalg.norm(change, axis=0)[self.predicted].tolist()


# -- online filters ----------------------------------------------------------------------------------------------


class Online(NamedTuple):
    """The matrices of linear filters, one per position."""

    a: tuple
    b: tuple


def low_pass(positions: int, sampling_time: float, cutoff: float) -> Online:
    """Backward differences through a first-order Butterworth low-pass; `cutoff` is a share of the Nyquist frequency.

    The memory is [position, difference, velocity].
    """
    (b0, b1), (_, a1) = butter(1, cutoff)  # pyright: ignore
    h = sampling_time
    a = ((0.0, 0.0, 0.0), (-1 / h, 0.0, 0.0), (-b0 / h, b1, -a1))
    return Online(_floats([a] * positions), _floats([(1.0, 1 / h, b0 / h)] * positions))


def kalman(noise: tuple[float, ...], sampling_time: float, acceleration: float) -> Online:
    """Stationary Kalman filters for motion with random acceleration, seen through noise.

    The memory is [position, velocity].
    """
    a, b = [], []
    for std in noise:
        f, gain, _ = _stationary(std, sampling_time, acceleration)
        a.append(f - np.outer(gain, f[0]))
        b.append(gain)
    return Online(_floats(a), _floats(b))


def differences(online: Online, commands: tuple[Command, ...], sampling_time: float) -> Online:
    """The same filters, but those of commanded positions, which are known exactly: there a difference is enough."""
    a, b = np.array(online.a), np.array(online.b)
    for command in commands:
        a[command.position], b[command.position] = 0.0, 1 / sampling_time
        a[command.position, 1:, 0], b[command.position, 0] = -1 / sampling_time, 1.0
    return Online(_floats(a), _floats(b))


def _stationary(noise: float, h: float, acceleration: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transition F, gain K and predicted covariance P of the stationary Kalman filter of one position.

    The acceleration is white noise that changes the velocity by `acceleration` times `h` in a sample. It must not be
    constant between samples: the filter's velocity would then swing to and fro. No sensor is taken as exact.
    """
    noise = max(noise, 1e-3 * acceleration * h**2)
    f = np.array([[1.0, h], [0.0, 1.0]])
    q = (acceleration * h) ** 2 * np.array([[h**2 / 3, h / 2], [h / 2, 1.0]])
    p = solve_discrete_are(f.T, np.array([[1.0], [0.0]]), q, np.array([[noise**2]]))
    return f, p[:, 0] / (p[0, 0] + noise**2), p


def _floats(nested: Any) -> Any:
    return tuple(map(_floats, nested)) if np.ndim(nested) else float(nested)


# -- offline filters ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LowPass:
    """Positions through a zero-phase second-order Butterworth low-pass, then central differences."""

    cutoff: float
    """Share of the Nyquist frequency."""

    def smooth(self, q: np.ndarray, sampling_time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of every sample; the velocities at both ends are one-sided."""
        smooth = filtfilt(*butter(2, self.cutoff), q, axis=0, padlen=min(9, len(q) - 1))  # pyright: ignore
        return smooth, np.gradient(smooth, sampling_time, axis=0)


@dataclass(frozen=True)
class KalmanSmoother:
    """Kalman filter and Rauch-Tung-Striebel smoother for motion with random acceleration."""

    noise: tuple[float, ...]
    """The sensor's standard deviation at every position."""
    acceleration: float
    """Standard deviation of the acceleration, in units of the position per second squared."""

    def smooth(self, q: np.ndarray, sampling_time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of every sample."""
        columns = [self._one(column, std, sampling_time) for column, std in zip(q.T, self.noise, strict=True)]
        smoothed = np.stack(columns, axis=1)
        return smoothed[..., 0], smoothed[..., 1]

    def _one(self, q: np.ndarray, noise: float, h: float) -> np.ndarray:
        f, gain, p = _stationary(noise, h, self.acceleration)
        filtered = np.empty((len(q), 2))
        m = np.array([q[0], 0.0])
        for t, measured in enumerate(q):
            if t:
                m = f @ m
            m = m + gain * (measured - m[0])
            filtered[t] = m
        after = p - np.outer(gain, p[0])
        back = after @ f.T @ np.linalg.inv(p)
        for t in range(len(q) - 2, -1, -1):
            filtered[t] += back @ (filtered[t + 1] - f @ filtered[t])
        return filtered
