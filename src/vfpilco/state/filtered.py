"""States with velocities: estimated by filters (MC-PILCO4PMS), or given by the plant (MC-PILCO).

Online, during a trial, a velocity is estimated from the measurements so far, on the plant and in every particle alike.
Offline, for the model, it is estimated from the complete trial, past and future. The GPs predict the change of the
velocity, and positions integrate it: q_{t+1} = q_t + T_s v_t + T_s/2 Δv_t.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.state.base import Pairs, Signals, expand, expanded_kinds
from vfpilco.state.binding import Bindable
from vfpilco.state.filters import Filter, LowPass, difference_filters
from vfpilco.state.memory import Entry, Memory, seen, window_memory


class State(NamedTuple):
    """Positions and velocities, (…, d_q) each."""

    q: Any
    v: Any


@dataclass(frozen=True)
class FullState(Bindable):
    """State representation of MC-PILCO: true positions and velocities, which only a simulated plant can give.

    Example:
        >>> FullState().full_state
        True
    """

    @property
    def full_state(self) -> bool:
        """The true state is measured."""
        return True

    @property
    def longest_memory(self) -> int:
        """No past is needed."""
        return 0

    # -- the state of the dynamics -------------------------------------------------------------------------------

    def rest(self, q: Any) -> State:
        """No velocity."""
        return State(q, q * 0)

    def moving(self, q: Any, v: Any) -> State:
        """These velocities."""
        return State(q, v)

    def positions(self, state: State) -> Any:
        """The positions."""
        return state.q

    def measured(self, state: State, q: Any) -> Any:
        """Positions and velocities, without an error."""
        return state.q.__array_namespace__().concat([state.q, state.v], axis=-1)

    def gp_input(self, state: State, u: Any) -> Any:
        """Positions (angles as sine and cosine), velocities, inputs, features."""
        xp = u.__array_namespace__()
        features = self.signals.features
        known = [features.of(state.q, state.v, u)] if features else []
        return xp.concat([*expand(state.q, self.signals.angles), state.v, u, *known], axis=-1)

    def continued(self, state: State) -> Any:
        """No change of the velocity."""
        return state.v[..., self.signals.predicted] * 0

    def advance(self, state: State, u: Any, change: Any) -> State:
        """Positions integrate the velocity, which changes linearly; commanded ones go where their input says."""
        signals, (q, v) = self.signals, state
        h = signals.sampling_time
        if not signals.commands:
            return State(q + h * v + h / 2 * change, v + change)
        xp = q.__array_namespace__()
        moved, speed = ([column[..., i] for i in range(signals.d_q)] for column in state)
        for k, i in enumerate(signals.free):
            moved[i] = q[..., i] + h * v[..., i] + h / 2 * change[..., k]
            speed[i] = v[..., i] + change[..., k]
        for command in signals.commands:
            i = command.position
            moved[i] = command.reached(q, u)
            speed[i] = (moved[i] - q[..., i]) / h
        return State(xp.stack(moved, axis=-1), xp.stack(speed, axis=-1))

    # -- what the controller remembers ---------------------------------------------------------------------------

    def begin(self, measured: Any) -> State:
        """The measured state."""
        d_q = self.signals.d_q
        return State(measured[..., :d_q], measured[..., d_q:])

    def push(self, memory: Any, measured: Any, u: Any) -> Any:
        """The measured state; no past is needed."""
        return self.begin(measured)

    def estimate(self, memory: Any) -> State:
        """The state as the controller knows it."""
        return memory

    def policy_input(self, memory: Any) -> Any:
        """Positions (angles as sine and cosine) and velocities."""
        return self.seen(self.estimate(memory))

    def exported_memory(self) -> Memory:
        """The measured state alone."""
        angles, d_q = self.signals.angles, self.signals.d_q
        velocities = [Entry(0, d_q + i) for i in range(d_q)]
        return window_memory(angles + (False,) * d_q, 1, [*seen(angles, 0), *velocities])

    # -- what is learned from ------------------------------------------------------------------------------------

    def rows(self, steps: int) -> int:
        """One pair per pair of neighbouring states."""
        return steps

    def states(self, trial: Trial) -> tuple[np.ndarray, State]:
        """Every sample."""
        assert trial.true is not None
        assert trial.velocity is not None
        return np.arange(trial.steps + 1), State(trial.true, trial.velocity)

    def pairs(self, trial: Trial) -> Pairs:
        """States, inputs and velocity changes of one trial."""
        t, (q, v) = self.states(trial)
        change = (v[1:] - v[:-1])[:, self.signals.predicted]
        return Pairs(t[:-1], State(q[:-1], v[:-1]), trial.u[t[:-1]], change)

    def error_weights(self, rate_gain: float) -> list[float] | None:
        """None: every target has noise of its own."""
        return None

    def least_noise(self, std: Sequence[float]) -> list[float]:
        """None: the state is true."""
        return [0.0] * len(self.signals.free)

    def seen(self, state: State) -> Any:
        """What the policy sees of a state if nothing disturbs it."""
        return state.v.__array_namespace__().concat([*expand(state.q, self.signals.angles), state.v], axis=-1)

    def policy_kinds(self) -> list[str]:
        """The kind of every entry of x*."""
        return expanded_kinds(self.signals.angles) + ["rate"] * self.signals.d_q

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃."""
        signals = self.signals
        known = ["feature"] * (signals.features.count if signals.features else 0)
        return self.policy_kinds() + ["input"] * signals.d_u + known


LARGEST = 1e30
"""What the numbers of filters are below, so that their memories can be computed with."""


@dataclass(frozen=True)
class Filtered(FullState):
    """State representation of MC-PILCO4PMS: positions and velocities estimated from measured positions.

    Example:
        >>> Filtered(online=LowPass(0.5), offline=LowPass(0.5))
        Filtered(online=LowPass(cutoff=0.5), offline=LowPass(cutoff=0.5))
    """

    online: Filter = field(default_factory=LowPass)
    """Estimates velocities for the policy, from the measurements so far."""
    offline: Filter = field(default_factory=LowPass)
    """Estimates velocities for the model, from the complete trial."""
    a: tuple[tuple[tuple[float, ...], ...], ...] = field(default=(), kw_only=True, repr=False)
    """A_j of the online filter of position j, whose memory m moves by m ← A_j m + b_j q̄; the first entry of m is the
    position and the last one the velocity. Computed by `bind`."""
    b: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True, repr=False)
    """b_j, likewise."""

    def __post_init__(self) -> None:
        positions, size = len(self.b) if self.bound is None else self.bound.d_q, len(self.b[0]) if self.b else 0
        rows = [*itertools.chain.from_iterable(self.a), *self.b]
        sizes = {*map(len, self.a), *map(len, rows)}
        if (len(self.a), len(self.b)) != (positions, positions) or not sizes <= {size}:
            raise UserError("The filters of a state need a square matrix and a column of the same size per position.")
        if not all(abs(value) < LARGEST for row in rows for value in row):
            raise UserError(f"The filters of a state need numbers below {LARGEST:g}.")

    def bind(self, signals: Signals, /) -> Filtered:
        """The same filters for a machine with these signals."""
        online = self.online.recursive(_std(self.online, signals), signals.sampling_time)
        a, b = difference_filters(online, signals.commands, signals.sampling_time)
        _std(self.offline, signals)
        return dataclasses.replace(self, bound=signals, a=a, b=b)

    @property
    def full_state(self) -> bool:
        """Only positions are measured."""
        return False

    def measured(self, state: State, q: Any) -> Any:
        """The measured positions."""
        return q

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

    def exported_memory(self) -> Memory:
        """The last measurement, and below it the filters' memories: position first, velocity last."""
        a, b = np.array(self.a, dtype=float), np.array(self.b, dtype=float)
        angles = self.signals.angles
        velocities = [Entry(b.shape[1], i) for i in range(len(angles))]
        return Memory(angles, 1, (*seen(angles, 1), *velocities), a, b)

    def rows(self, steps: int) -> int:
        """The first and the last sample have no velocity."""
        return steps - 2

    def states(self, trial: Trial) -> tuple[np.ndarray, State]:
        """Every sample but the first and the last, smoothed."""
        signals = self.signals
        q, v = self.offline.smooth(trial.q, _std(self.offline, signals), signals.sampling_time)
        for command in signals.commands:
            i = command.position
            q[:, i] = trial.q[:, i]
            v[1:, i] = np.diff(trial.q[:, i]) / signals.sampling_time
        return np.arange(1, trial.steps), State(q[1:-1], v[1:-1])

    def least_noise(self, std: Sequence[float]) -> list[float]:
        """What the offline filter leaves of the sensors' noise in a change of the velocity."""
        signals = self.signals
        impulse = np.zeros((101, signals.d_q))
        impulse[50] = std
        _, velocity = self.offline.smooth(impulse, _std(self.offline, signals), signals.sampling_time)
        return np.linalg.norm(np.diff(velocity, axis=0), axis=0)[signals.predicted].tolist()


def _std(used: Filter, signals: Signals) -> tuple[float, ...]:
    """The sensor's standard deviation, which some filters need."""
    if signals.std is None and used.needs_std:
        raise UserError(
            "The sensor's error is unknown, and a Kalman filter needs it: give the sensor a method error_std, or "
            "choose low-pass filters."
        )
    return signals.std or (0.0,) * signals.d_q
