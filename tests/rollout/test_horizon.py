"""The gradient horizon, chosen by how well independent gradients agree."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import pytest

from vfpilco.rollout.horizon import AGREEMENT, DECAYS, Agreement
from vfpilco.rollout.schedule import Phase


@dataclass(frozen=True)
class Known(Agreement):
    """Agreements that are given, decay by decay."""

    simulator: None = None
    objective: None = None
    sampling: None = None
    values: dict[float, float] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)

    def __call__(self, params, phase, key) -> float:
        self.asked.append(phase.decay)
        return self.values[phase.decay]


def chosen(values: dict[float, float], begin: float) -> tuple[float, list[float]]:
    known = Known(values=values)
    return known.longest({}, Phase(1, 0.01, 0.0, begin), jax.random.key(0)), known.asked


@pytest.mark.parametrize("begin", DECAYS)
@pytest.mark.parametrize("longest", DECAYS)
def test_the_longest_horizon_on_which_gradients_agree_is_found_from_anywhere(begin, longest):
    values = {decay: 1.0 if decay <= longest else 0.0 for decay in DECAYS}
    assert chosen(values, begin)[0] == longest


def test_only_the_neighbours_are_measured_when_nothing_has_changed():
    values = {decay: 1.0 if decay <= 0.92 else 0.0 for decay in DECAYS}
    assert chosen(values, 0.92)[1] == [0.92, 0.95]


def test_where_gradients_agree_on_no_horizon_the_best_one_is_taken():
    values = {decay: AGREEMENT - (0.1 if decay == 0.88 else 0.5) for decay in DECAYS}
    assert chosen(values, 0.97)[0] == 0.88
