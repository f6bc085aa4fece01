"""The velocity-free state: windows of past positions and inputs, and what the GPs and the policy see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from vfpilco.common.checks import check_integer
from vfpilco.common.documentation import EXPLAINED
from vfpilco.common.errors import UserError, unknown
from vfpilco.data.trial import Trial
from vfpilco.state.base import Pairs, expand, expanded_kinds, full_change
from vfpilco.state.binding import Bindable
from vfpilco.state.memory import Entry, Memory, seen, window_memory

ENCODINGS = ("differences", "positions")
LONGEST = 1000
"""The longest memory, in samples."""


class Window(NamedTuple):
    """The velocity-free state x_t, newest first: q is (…, m_q+1, d_q), u is (…, m_u, d_u)."""

    q: Any
    u: Any


@dataclass(frozen=True)
class VelocityFree(Bindable):
    """State representation of VF-MC-PILCO: x_t = [q_t … q_{t-m_q}, u_{t-1} … u_{t-m_u}].

    Example:
        >>> VelocityFree(m_q=2, m_u=1)
        VelocityFree(m_q=2, m_u=1, encoding='differences')
    """

    m_q: int = 2
    """Position memory: how many past positions the GPs and the policy see."""
    m_u: int = 1
    """Control memory: how many past inputs the GPs see."""
    encoding: Literal["differences", "positions"] = "differences"
    """Past positions as consecutive differences (Eq. 4 and 7), or the positions themselves ("naive" in the paper)."""
    policy_m_u: int = field(default=0, repr=False, metadata=EXPLAINED)
    """How many past inputs the policy sees: on a machine with a delay those that are still on their way."""

    def __post_init__(self) -> None:
        check_integer("m_q", self.m_q, 1, LONGEST)
        check_integer("m_u", self.m_u, 0, LONGEST)
        check_integer("policy_m_u", self.policy_m_u, 0)
        if self.policy_m_u > self.m_u:
            raise UserError(
                f"policy_m_u must be at most m_u, {self.m_u}, got {self.policy_m_u}: choose a smaller one, or a larger "
                "m_u."
            )
        if self.encoding not in ENCODINGS:
            raise unknown("encoding", str(self.encoding), ENCODINGS)

    def __repr__(self) -> str:
        names = ["m_q", "m_u", "encoding", *["policy_m_u"] * (self.policy_m_u > 0)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def full_state(self) -> bool:
        """Only positions are measured."""
        return False

    @property
    def longest_memory(self) -> int:
        """The first sample whose window lies within the trial."""
        return max(self.m_q, self.m_u)

    # -- what is remembered, and how it moves --------------------------------------------------------------------

    def begin(self, q: Any) -> Window:
        """The window at rest in `q`: copies of it, and zero inputs."""
        xp = q.__array_namespace__()
        u = xp.zeros((*q.shape[:-1], self.m_u, self.signals.d_u), dtype=q.dtype)
        return Window(xp.stack([q] * (self.m_q + 1), axis=-2), u)

    rest = begin

    def moving(self, q: Any, v: Any) -> Window:
        """The window that moved with the velocities `v`, in units per second, until it reached `q`."""
        xp, h = q.__array_namespace__(), self.signals.sampling_time
        return Window(xp.stack([q - i * h * v for i in range(self.m_q + 1)], axis=-2), self.begin(q).u)

    def positions(self, window: Window) -> Any:
        """The newest positions."""
        return window.q[..., 0, :]

    def measured(self, window: Window, q: Any) -> Any:
        """The measured positions."""
        return q

    def push(self, window: Window, q: Any, u: Any) -> Window:
        """The window one sample later: `u` was applied and `q` was reached."""
        xp = q.__array_namespace__()
        qs = xp.concat([q[..., None, :], window.q[..., :-1, :]], axis=-2)
        us = xp.concat([u[..., None, :], window.u], axis=-2)[..., : self.m_u, :]
        return Window(qs, us)

    def advance(self, window: Window, u: Any, change: Any) -> Window:
        """The window after the predicted position change Δq_t."""
        q = window.q[..., 0, :]
        return self.push(window, q + full_change(q, u, change, self.signals), u)

    # -- what is seen of it --------------------------------------------------------------------------------------

    def gp_input(self, window: Window, u: Any) -> Any:
        """x̃_t of Eq. 4: positions (angles as sine and cosine), past differences, inputs t to t-m_u, features."""
        xp = u.__array_namespace__()
        past = [window.u[..., i, :] for i in range(self.m_u)]
        if self.signals.features is not None:
            q = window.q[..., 0, :]
            past.append(self.signals.features.of(q, q - window.q[..., 1, :], u))
        return xp.concat([self.encoded(window), u, *past], axis=-1)

    def encoded(self, window: Window) -> Any:
        """The positions of a window: the newest (angles as sine and cosine), then past differences."""
        xp, angles = window.q.__array_namespace__(), self.signals.angles
        q = [window.q[..., i, :] for i in range(self.m_q + 1)]
        if self.encoding == "differences":
            return xp.concat([*expand(q[0], angles), *(q[i] - q[i + 1] for i in range(self.m_q))], axis=-1)
        return xp.concat([column for q_i in q for column in expand(q_i, angles)], axis=-1)

    def policy_input(self, window: Window) -> Any:
        """x*_t of Eq. 7, and after it the past inputs that the policy sees, u_{t-1} … u_{t-policy_m_u}."""
        xp, past = window.q.__array_namespace__(), [window.u[..., i, :] for i in range(self.policy_m_u)]
        return xp.concat([self.encoded(window), *past], axis=-1)

    def seen(self, window: Window) -> Any:
        """What the policy sees of a window."""
        return self.policy_input(window)

    def exported_memory(self) -> Memory:
        """The window of positions, the past inputs that the policy sees, and x*."""
        if type(self).policy_input is not VelocityFree.policy_input:
            raise UserError(
                f"A policy on a state of class {type(self).__name__} cannot be exported: give the class a method "
                "exported_memory that says the same as its policy_input."
            )
        angles = self.signals.angles
        if self.encoding == "differences":
            past = [Entry(i, j, less=i + 1) for i in range(self.m_q) for j in range(len(angles))]
        else:
            past = [entry for i in range(1, self.m_q + 1) for entry in seen(angles, i)]
        inputs = [Entry(i, j, applied=True) for i in range(self.policy_m_u) for j in range(self.signals.d_u)]
        return window_memory(angles, self.m_q + 1, [*seen(angles, 0), *past, *inputs], self.policy_m_u)

    def continued(self, window: Window) -> Any:
        """The last difference of every predicted position."""
        return (window.q[..., 0, :] - window.q[..., 1, :])[..., self.signals.predicted]

    def policy_kinds(self) -> list[str]:
        """The kind of every entry of x*."""
        return self._encoded_kinds() + ["input"] * (self.policy_m_u * self.signals.d_u)

    def _encoded_kinds(self) -> list[str]:
        expanded = expanded_kinds(self.signals.angles)
        differences = self.encoding == "differences"
        return expanded + (["rate"] * (self.m_q * self.signals.d_q) if differences else expanded * self.m_q)

    def input_kinds(self) -> list[str]:
        """The kind of every entry of x̃."""
        signals = self.signals
        known = ["feature"] * (signals.features.count if signals.features else 0)
        return self._encoded_kinds() + ["input"] * ((1 + self.m_u) * signals.d_u) + known

    # -- what is learned from ------------------------------------------------------------------------------------

    def windows(self, trial: Trial, t: np.ndarray) -> Window:
        """The windows of a trial at the samples `t`, none of them before `longest_memory`."""
        q = np.stack([trial.q[t - i] for i in range(self.m_q + 1)], axis=-2)
        empty = [np.zeros((len(t), self.signals.d_u))]
        u = np.stack([trial.u[t - i] for i in range(1, self.m_u + 1)] or empty, axis=-2)
        return Window(q, u[:, : self.m_u])

    def rows(self, steps: int) -> int:
        """One pair per sample but those before the first complete window."""
        return steps - self.longest_memory

    def states(self, trial: Trial) -> tuple[np.ndarray, Window]:
        """Every sample from the first complete window on."""
        t = np.arange(self.longest_memory, trial.steps + 1)
        return t, self.windows(trial, t)

    def pairs(self, trial: Trial) -> Pairs:
        """Windows, inputs and position changes of one trial, from the first complete window on."""
        t = np.arange(self.longest_memory, trial.steps)
        change = (trial.q[t + 1] - trial.q[t])[:, self.signals.predicted]
        return Pairs(t, self.windows(trial, t), trial.u[t], change)

    def error_weights(self, rate_gain: float) -> list[float]:
        """q_{t+1} - q_t, less the prior mean's share of q_t - q_{t-1}."""
        return [1.0, -1.0 - rate_gain, rate_gain]

    def least_noise(self, std: Sequence[float]) -> list[float]:
        """The error of the position that is reached, of which x̃ contains nothing."""
        return list(np.asarray(std, dtype=float)[self.signals.predicted])
