"""The velocity-free state: windows of past positions and inputs, and what the GPs and the policy see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vfpilco.memory import Entry, Memory, seen, window_memory
from vfpilco.representation import Command, Features, TrainingSet, expand, expanded_kinds, predicted, whole_change
from vfpilco.trial import Trial


class Window(NamedTuple):
    """The velocity-free state x_t, newest first: q is (…, m_q+1, d_q), u is (…, m_u, d_u)."""

    q: Any
    u: Any


@dataclass(frozen=True)
class VelocityFree:
    """State representation of VF-MC-PILCO: x_t = [q_t … q_{t-m_q}, u_{t-1} … u_{t-m_u}]."""

    angles: tuple[bool, ...]
    """Which positions are angles (seen as sine and cosine)."""
    d_u: int
    m_q: int
    m_u: int
    differences: bool = True
    """Past positions as consecutive differences (Eq. 4 and 7), or as they are ("naive")."""
    constant_velocity: bool = True
    """Prior mean of the GPs: the last difference, or zero."""
    commands: tuple[Command, ...] = ()
    """The positions that follow an input and need no GP."""
    features: Features | None = None
    """What the GPs see besides."""
    correlated: bool = False
    """Whether targets share the errors of the measurements they are made of, or have noise of their own each."""
    jitter: float = 0.0
    """Standard deviation of the times that samples are taken at, in sampling times; for correlated noise."""
    spread: tuple[float, ...] = ()
    """The sensor's error at every position, beside which that of the jitter stands."""

    @property
    def full_state(self) -> bool:
        """Only positions are measured."""
        return False

    @property
    def d_q(self) -> int:
        """The number of positions."""
        return len(self.angles)

    @property
    def predicted(self) -> Any:
        """Which positions GPs predict: an index of the last dimension."""
        return predicted(self.d_q, self.commands) if self.commands else slice(None)

    # -- what is remembered, and how it moves --------------------------------------------------------------------

    def begin(self, q: Any) -> Window:
        """The window at rest in `q`: copies of it, and zero inputs."""
        xp = q.__array_namespace__()
        u = xp.zeros((*q.shape[:-1], self.m_u, self.d_u), dtype=q.dtype)
        return Window(xp.stack([q] * (self.m_q + 1), axis=-2), u)

    rest = begin

    def positions(self, window: Window) -> Any:
        """The newest positions."""
        return window.q[..., 0, :]

    def measured(self, window: Window, e: Any) -> Any:
        """The newest positions through the sensor."""
        return window.q[..., 0, :] + e

    def push(self, window: Window, q: Any, u: Any) -> Window:
        """The window one sample later: `u` was applied and `q` was reached."""
        xp = q.__array_namespace__()
        qs = xp.concat([q[..., None, :], window.q[..., :-1, :]], axis=-2)
        us = xp.concat([u[..., None, :], window.u], axis=-2)[..., : self.m_u, :]
        return Window(qs, us)

    def advance(self, window: Window, u: Any, change: Any) -> Window:
        """The window after the predicted position change Δq_t."""
        q = window.q[..., 0, :]
        return self.push(window, q + whole_change(q, u, change, self.commands), u)

    # -- what is seen of it --------------------------------------------------------------------------------------

    def gp_input(self, window: Window, u: Any) -> Any:
        """x̃_t of Eq. 4: positions (angles as sine and cosine), past differences, inputs t to t-m_u, features."""
        xp = u.__array_namespace__()
        past = [window.u[..., i, :] for i in range(self.m_u)]
        if self.features is not None:
            q = window.q[..., 0, :]
            past.append(self.features.of(q, q - window.q[..., 1, :], u))
        return xp.concat([self.policy_input(window), u, *past], axis=-1)

    def policy_input(self, window: Window) -> Any:
        """x*_t of Eq. 7: positions (angles as sine and cosine) and past differences."""
        xp = window.q.__array_namespace__()
        q = [window.q[..., i, :] for i in range(self.m_q + 1)]
        if self.differences:
            return xp.concat([*expand(q[0], self.angles), *(q[i] - q[i + 1] for i in range(self.m_q))], axis=-1)
        return xp.concat([column for q_i in q for column in expand(q_i, self.angles)], axis=-1)

    def remembered(self) -> Memory:
        """The window of positions, and x* of Eq. 7."""
        if self.differences:
            past = [Entry(i, j, less=i + 1) for i in range(self.m_q) for j in range(self.d_q)]
        else:
            past = [entry for i in range(1, self.m_q + 1) for entry in seen(self.angles, i)]
        return window_memory(self.angles, self.m_q + 1, [*seen(self.angles, 0), *past])

    def prior_mean(self, window: Window) -> Any:
        """What the GPs expect of Δq_t before seeing data."""
        last = (window.q[..., 0, :] - window.q[..., 1, :])[..., self.predicted]
        return last if self.constant_velocity else last * 0

    def least_noise(self, noise: Sequence[float]) -> list[float]:
        """The error of the position that is reached, of which x̃ does not tell; if `correlated`, of all in a target."""
        share = np.linalg.norm(self.error_weights) if self.correlated else 1.0
        return list(share * np.asarray(noise, dtype=float)[self.predicted])

    @property
    def error_weights(self) -> list[float]:
        """How the errors of q_{t+1}, q_t and q_{t-1} add up to that of a target, the prior mean taken off."""
        return [1.0, -2.0, 1.0] if self.constant_velocity else [1.0, -1.0, 0.0]

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃, x*'s first."""
        expanded = expanded_kinds(self.angles)
        past = ["rate"] * (self.m_q * self.d_q) if self.differences else expanded * self.m_q
        known = ["feature"] * (self.features.count if self.features else 0)
        return expanded + past + ["input"] * ((1 + self.m_u) * self.d_u) + known

    # -- what is learned from ------------------------------------------------------------------------------------

    def windows(self, trial: Trial, t: np.ndarray) -> Window:
        """The windows of a trial at the samples `t`, none of them before `first_real`."""
        q = np.stack([trial.q[t - i] for i in range(self.m_q + 1)], axis=-2)
        u = np.stack([trial.u[t - i] for i in range(1, self.m_u + 1)] or [np.zeros((len(t), self.d_u))], axis=-2)
        return Window(q, u[:, : self.m_u])

    @property
    def first_real(self) -> int:
        """The first sample whose window lies within the trial."""
        return max(self.m_q, self.m_u)

    def rows(self, steps: int) -> int:
        """One pair per sample but those before the first real window."""
        return steps - self.first_real

    def states(self, trial: Trial) -> tuple[np.ndarray, Window]:
        """Every sample from the first real window on."""
        t = np.arange(self.first_real, trial.steps + 1)
        return t, self.windows(trial, t)

    def training_set(self, trial: Trial) -> TrainingSet:
        """GP inputs and position changes of one trial, from the first sample whose window is real."""
        t = np.arange(self.first_real, trial.steps)
        window = self.windows(trial, t)
        change = (trial.q[t + 1] - trial.q[t])[:, self.predicted]
        mixing = self.mixing(t, trial.q) if self.correlated else None
        return TrainingSet(self.gp_input(window, trial.u[t]), change, self.prior_mean(window), mixing)

    def mixing(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Of every joint, a row for the target of each sample `t`, a column for the error of each measurement.

        All measurements are equally good, and one matrix serves all joints, but where the sampling time jitters:
        there those of fast movements are worse.
        """
        rows, matrix = np.arange(len(t)), np.zeros((len(t), len(q)))
        for i, weight in enumerate(self.error_weights):
            matrix[rows, t + 1 - i] = weight
        if not self.jitter:
            return matrix[None]
        errors = np.hypot(self.spread, self.jitter * np.gradient(q, axis=0))[:, self.predicted]
        return matrix * errors.T[:, None, :]
