"""Particles that are already moving when a trial begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.common.random import NumpyRandom
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.rbf import RBF
from vfpilco.rollout.draws import Draws
from vfpilco.rollout.particles import Simulator
from vfpilco.state.base import Signals
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.start import GaussianStart, MovingStart, UniformStart
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

SPEED = (0.6, -3.0)
POLICY = RBF(8).bind(PolicyInputs((1.0, 1.0, 1.0, 0.03, 0.1, 0.03, 0.1), (10.0,), (False, True, True, *[False] * 4)))
MOVING = MovingStart(GaussianStart((0.0, 0.1), (0.01, 0.01)), SPEED, (0.0, 0.0))


@dataclass(frozen=True)
class AsPredicted(Draws):
    """The prior mean is right: every movement continues."""

    def begin(self, posterior, particles, steps):
        return None

    def draw(self, posterior, known, x, z):
        return 0 * z, None


@pytest.fixture(scope="module")
def rollouts(dynamics, task, model):
    """The same rollout at rest and in motion."""

    def rollout(start):
        simulator = Simulator(
            dynamics=dynamics, policy=POLICY, start=start, cost=task.cost, horizon=12, draws=AsPredicted()
        )
        params = {name: jnp.asarray(value) for name, value in POLICY.init(jax.random.key(1)).items()}
        return simulator.rollout(params, model.posterior, jax.random.key(0), 5)

    return rollout(MOVING.start), rollout(MOVING)


def test_particles_continue_at_the_velocity_that_they_start_with(rollouts, dynamics):
    rest, moving = (np.asarray(rollout.q) for rollout in rollouts)
    np.testing.assert_array_equal(rest[0], moving[0])
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=1e-12)
    times = np.arange(13)[:, None, None] * dynamics.state.signals.sampling_time
    np.testing.assert_allclose(moving, rest[0] + times * SPEED, atol=1e-12)


def test_the_policy_sees_the_motion_from_the_second_measurement_on(rollouts):
    rest, moving = (np.asarray(rollout.u) for rollout in rollouts)
    np.testing.assert_array_equal(rest[0], moving[0])
    assert np.abs(rest[1] - moving[1]).min() > 1e-3


def test_a_moving_state_is_one_whose_past_moved():
    signals, q, v = Signals((False, True), 1, 0.1, std=(1e-3, 1e-3)), np.array([[0.5, 1.0]]), np.array([[1.0, -2.0]])
    state = VelocityFree(m_q=2, m_u=1).bind(signals)
    window = state.moving(q, v)
    np.testing.assert_allclose(window.q[0], [[0.5, 1.0], [0.4, 1.2], [0.3, 1.4]])
    assert not window.u.any()
    np.testing.assert_allclose(state.continued(window), 0.1 * v)
    for other in (FullState(), Filtered()):
        full = other.bind(signals)
        np.testing.assert_array_equal(full.moving(q, v).v, v)


def test_velocities_are_drawn_beside_any_start():
    start = MovingStart(UniformStart((-1.0,), (1.0,)), (2.0,), (0.5,))
    random = NumpyRandom(np.random.default_rng(0))
    q, v = start.sample(random, 4000), start.velocity(random, 4000)
    assert q.shape == v.shape == (4000, 1)
    assert v.mean() == pytest.approx(2.0, abs=0.05)
    assert v.std() == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(q[:, 0], v[:, 0])[0, 1]) < 0.05


def test_velocities_that_do_not_fit_are_refused(task):
    with pytest.raises(UserError, match="two numbers for every position"):
        MovingStart(GaussianStart((0.0,), (0.1,)), (1.0, 2.0), (0.1,))
    for wrong in ((1.0,), (0.1,)), ((1.0, 2.0, 3.0), (0.1, 0.1, 0.1)):
        with pytest.raises(UserError, match="The start of task"):
            replace(task, start=MovingStart(task.start, *wrong)).check()


def test_a_state_that_cannot_move_is_refused(task):
    class AtRest(VelocityFree):
        moving = None  # pyright: ignore[reportAssignmentType]

    plan = Plan(replace(task, start=MOVING), Settings().replace(state=AtRest()))
    with pytest.raises(UserError, match="starts in motion, and a state of class AtRest cannot"):
        plan.check()
