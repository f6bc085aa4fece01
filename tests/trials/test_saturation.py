"""Policies that do nothing but push are noticed, and those that use their limits well are not."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import vfpilco
from vfpilco.data.results import CostBand, Forecast
from vfpilco.data.risk import Risk
from vfpilco.data.trial import Trial
from vfpilco.rollout.particles import Rollout
from vfpilco.tasks.machine import Input
from vfpilco.trials.plan import Plan, dynamics_of
from vfpilco.trials.result import RunResult
from vfpilco.trials.review import review
from vfpilco.trials.saturation import AT_LIMIT, NEARLY_ALL, saturated
from vfpilco.trials.settings import Settings

N, M = 100, 20
LIMIT = 10.0
UP = np.ones(N)
SWITCHING = np.sign(np.sin(np.arange(N) / 5 + 0.1))


@pytest.fixture(scope="module")
def machine():
    return vfpilco.task("cartpole").machine


def executed(*u: np.ndarray) -> Trial:
    """A trial with these inputs, relative to the limit."""
    return Trial(np.zeros((len(u[0]) + 1, 2)), LIMIT * np.stack(u, 1), 1 / 30)


def predicted(*u: np.ndarray) -> Rollout:
    """As many particles with the same inputs each; inputs are (samples,) or (samples, particles)."""
    each = [np.broadcast_to(one.reshape(len(one), -1), (len(one), M)) for one in u]
    rollout = np.zeros((len(u[0]) + 1, M, 2)), LIMIT * np.stack(each, -1), np.zeros((len(u[0]) + 1, M))
    return Rollout(*rollout)  # pyright: ignore[reportArgumentType]


def found(machine, real: np.ndarray, particles: np.ndarray | None = None, limit: float = LIMIT):
    return saturated(executed(real), predicted(real if particles is None else particles), machine, (limit,))


def below(fraction: float, u: np.ndarray = UP, size: float = 0.5) -> np.ndarray:
    """The inputs, with a fraction of the samples away from the limit."""
    return np.where(np.arange(N) < round(fraction * N), size * u, u)


@pytest.mark.parametrize(("u", "side"), [(UP, "upper"), (-UP, "lower"), (0.985 * UP, "upper"), (below(0.04), "upper")])
def test_a_policy_that_always_pushes_is_a_local_optimum(machine, u, side):
    result = found(machine, u)
    assert result is not None
    assert result.pushes
    assert f"force is at its {side} limit in" in result.words
    assert "local optimum" in result.words
    assert "--input-penalty" in result.words


def test_one_that_is_sometimes_away_from_the_limit_is_not(machine):
    assert found(machine, below(1.2 * (1 - NEARLY_ALL))) is None
    assert found(machine, 0.99 * AT_LIMIT * UP) is None
    assert found(machine, np.zeros(N)) is None


def test_the_share_of_the_samples_is_that_of_the_trial(machine):
    assert "in 96 % of the samples" in found(machine, below(0.04), UP).words
    assert "in 100 % of the samples" in found(machine, UP, below(0.04)).words


def test_one_that_alternates_between_the_limits_is_no_local_optimum(machine):
    result = found(machine, SWITCHING)
    assert result is not None
    assert not result.pushes
    assert "switches between the limits of force" in result.words
    assert "local optimum" not in result.words


def test_particles_have_to_agree(machine):
    half = np.where(np.arange(M) < M // 2, 1.0, 0.2) * UP[:, None]
    assert found(machine, UP, half) is None
    assert found(machine, 0.2 * UP, UP) is None
    assert not found(machine, UP, SWITCHING).pushes


def test_particles_that_start_elsewhere_may_push_the_other_way(machine):
    sides = np.where(np.arange(M) < M // 2, 1.0, -1.0) * UP[:, None]
    assert found(machine, UP, sides).pushes


def test_the_limit_is_that_of_the_policy(machine):
    assert found(machine, 0.5 * UP) is None
    assert found(machine, 0.5 * UP, limit=0.5 * LIMIT).pushes


def test_every_input_is_examined_by_itself(machine):
    two = dataclasses.replace(machine, inputs=(*machine.inputs, Input("brake", "N", limit=LIMIT)))
    one = saturated(executed(0.3 * UP, -UP), predicted(0.3 * UP, -UP), two, (LIMIT, LIMIT))
    assert one is not None
    assert "brake is at its lower limit" in one.words
    assert "force" not in one.words
    both = saturated(executed(SWITCHING, UP), predicted(SWITCHING, UP), two, (LIMIT, LIMIT))
    assert both is not None
    assert both.pushes
    assert "force" not in both.words


# -- the review of a trial -------------------------------------------------------------------------------------------

STEPS = 90
FAILED, NO_TEST = 0.0, None
RETRIED = "The next trial tries a new policy, too, unless this one is expected to become clearly better."


def reviewed(u: float, chance: float | None = FAILED, samples: int = STEPS, success: bool = False, **settings):
    """The review of a first trial of the cart-pole with a constant input, relative to the limit."""
    task = vfpilco.task("cartpole")
    task = dataclasses.replace(task, success=lambda q: success)
    result = RunResult(Plan(task, Settings().replace(**settings)))
    result.policy = SimpleNamespace(policy=SimpleNamespace(inputs=SimpleNamespace(limits=(LIMIT,))))
    forecast = Forecast(CostBand(80.0, 10.0, 900.0), chance, Risk(M, 0.0))
    rng = np.random.default_rng(0)
    rollout = predicted(u * np.ones(STEPS))._replace(q=0.1 * rng.normal(size=(STEPS + 1, M, 2)))
    dynamics = dynamics_of(result.settings, task.machine)
    return review(result, 1, executed(u * np.ones(samples)), rollout, forecast, dynamics)


def test_a_trial_that_failed_at_the_limit_has_a_note_and_the_next_one_tries_a_new_policy():
    why, notes = reviewed(1.0)
    assert len(notes) == 1
    assert notes[0].startswith("The policy does nothing but push")
    assert why.next == RETRIED


def test_nothing_is_said_about_other_policies():
    for why, notes in (reviewed(0.5), reviewed(1.0, success=True), reviewed(1.0, chance=NO_TEST)):
        assert notes == ()
        assert "new policy" not in why.next


def test_a_new_policy_is_announced_only_if_one_will_be_tried():
    """With few gradient steps, or without a complete trial to compare with, no other optimisation begins."""
    for why, notes in (reviewed(1.0, samples=40), reviewed(1.0, steps=200)):
        assert len(notes) == 1
        assert "new policy" not in why.next
