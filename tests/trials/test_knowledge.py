"""What a run knows about its machine."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vfpilco
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.state.filtered import Filtered
from vfpilco.trials.knowledge import FAR, Knowledge
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import RunResult
from vfpilco.trials.settings import Settings


def knowledge(*trials: Trial, **settings) -> Knowledge:
    """What is known after these explorations of the cart-pole."""
    result = RunResult(Plan(vfpilco.task("cartpole"), Settings().replace(**settings)))
    result.trials = list(trials)
    result.rows = [TrialResult(cost=1.0, success=False, kind="explore", file="", experience_s=0.0) for _ in trials]
    return Knowledge(result, open_loop=True)


@pytest.fixture
def exploration() -> Trial:
    rng = np.random.default_rng(0)
    q = np.cumsum(0.1 * rng.normal(size=(91, 2)), axis=0)
    return Trial(q * [0.4, 30] / np.abs(q).max(0), rng.uniform(-10, 10, (90, 1)), 1 / 30)


def test_particles_stop_far_beyond_the_explorations(exploration):
    assert knowledge(exploration).reach == (FAR, 100 * FAR)  # 0.4 m at a scale of 1 m; 30 rad
    assert knowledge().reach is None
    assert knowledge(exploration, state=Filtered()).reach is None


def test_a_particle_out_of_reach_stays_there_and_has_no_gradient(exploration):
    dynamics = dataclasses.replace(knowledge(exploration).dynamics, reach=(2.0, 100.0))
    window = dynamics.state.rest(jnp.array([[1.0, 0.0], [-1.0, 0.0]]))

    def reached(change):
        return dynamics.state.positions(dynamics.advance(window, jnp.zeros((2, 1)), change))

    change = jnp.array([[9.0, 3.0], [-jnp.inf, 3.0]])
    np.testing.assert_allclose(reached(change), [[2.0, 3.0], [-2.0, 3.0]])
    gradient = jax.grad(lambda change: reached(change).sum())(jnp.array([[9.0, 3.0], [0.5, 3.0]]))
    np.testing.assert_allclose(gradient, [[0.0, 1.0], [1.0, 1.0]])


def test_the_position_memory_of_the_model_is_that_of_the_run(exploration):
    known = knowledge(exploration)
    assert known.dynamics.state.m_q == 2
    known.result.model = type("Found", (), {"m_q": 3, "jitter": 0.0})()
    assert known.dynamics.state.m_q == 3
    assert known.dynamics.state.m_u == known.memory.m_u


def test_explorations_count_as_one_when_choices_are_made_again(exploration):
    result = knowledge(exploration, exploration).result
    assert result.lengths == [180]
    result.trials.append(exploration)
    result.rows.append(dataclasses.replace(result.rows[0], kind="policy", trial=1))
    assert result.lengths == [180, 90]
