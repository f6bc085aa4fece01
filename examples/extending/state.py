"""A state representation of your own: the policy sees rates over the complete window, which are less noisy.

vfpilco learn examples/extending/state.py
"""

from dataclasses import dataclass, replace

import vfpilco
from vfpilco.state.base import expand, expanded_kinds
from vfpilco.state.memory import Entry, seen, window_memory


@dataclass(frozen=True)
class WideRates(vfpilco.VelocityFree):
    """As `VelocityFree`, but x* = [q_t, q_t - q_{t-m_q}]; the GPs still see every difference."""

    def policy_input(self, window):
        newest, oldest = window.q[..., 0, :], window.q[..., -1, :]
        xp = newest.__array_namespace__()
        return xp.concat([*expand(newest, self.signals.angles), newest - oldest], axis=-1)

    def policy_kinds(self):
        return expanded_kinds(self.signals.angles) + ["rate"] * self.signals.d_q

    def exported_memory(self):
        """The same as data: with this method a policy on this state can be exported."""
        angles = self.signals.angles
        rates = [Entry(0, j, less=self.m_q) for j in range(len(angles))]
        return window_memory(angles, self.m_q + 1, [*seen(angles, 0), *rates])


task = replace(vfpilco.task("cartpole"), name="cartpole-wide", settings={"state": WideRates(m_q=3, m_u=1)})
