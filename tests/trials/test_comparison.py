"""A trial compared with the particles that predicted it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vfpilco
from vfpilco.data.trial import Trial
from vfpilco.model.diagnostics import ProjectionLoss
from vfpilco.model.evidence import Hyperparameters
from vfpilco.model.kernels import SE
from vfpilco.model.model import Model
from vfpilco.model.posterior import Posterior
from vfpilco.rollout.particles import Rollout
from vfpilco.trials import comparison
from vfpilco.trials.comparison import coverage, posterior_report, success_chance

TASK = vfpilco.task("cartpole")


def predicted(std: float, samples: int = 400) -> Rollout:
    q = np.random.default_rng(1).normal(scale=std, size=(samples, 500, 1))
    return Rollout(q, np.zeros((samples - 1, 500, 1)), np.zeros((samples, 500)))  # pyright: ignore[reportArgumentType]


def executed(samples: int = 400) -> Trial:
    return Trial(np.random.default_rng(2).normal(size=(samples, 1)), np.zeros((samples - 1, 1)), 0.02)


def test_a_trial_as_predicted_is_covered_as_often_as_bands_say():
    found = coverage(executed(), predicted(1.0))
    assert found.band_coverage == pytest.approx(0.95, abs=0.03)
    assert found.half_coverage == pytest.approx(0.5, abs=0.08)
    assert found.band_width == [pytest.approx(2 * 1.96, rel=0.03)]
    assert found.log_score == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.1)  # of a standard Gaussian


@pytest.mark.parametrize("std", [0.3, 3.0])
def test_particles_that_are_too_certain_or_too_uncertain_score_less(std):
    assert coverage(executed(), predicted(std)).log_score < coverage(executed(), predicted(1.0)).log_score - 0.4


def test_a_trial_that_ended_early_is_compared_as_far_as_it_went():
    assert coverage(executed(40), predicted(1.0)).band_coverage > 0.8


def projected(inducing: int) -> Model:
    """Of a model only what a report needs: a projection on so many inducing points."""
    w, some = np.zeros((2, inducing, inducing // 2)), np.zeros((2, inducing, 3))
    posterior = Posterior(SE(), {}, some, some[..., 0], w, np.ones(2))  # pyright: ignore[reportArgumentType]
    return Model(SE(), (), Hyperparameters({}, np.zeros(2)), posterior, 2000, (0.0, 0.0))


@pytest.mark.parametrize(
    ("inducing", "chosen", "error", "words"),
    [
        (128, True, 0.05, None),  # the next model chooses more
        (512, True, 0.05, "although its inducing points are the most that are chosen: if policies fail, give more"),
        (512, True, 0.01, None),
        (128, False, 0.05, "leave out --inducing or raise it"),
        (512, False, 0.05, "leave out --inducing or raise it"),
        (128, False, 0.01, None),
    ],
)
def test_too_few_inducing_points_are_noted_where_no_more_will_be_chosen(monkeypatch, inducing, chosen, error, words):
    loss = ProjectionLoss(np.array([0.0, error]), np.array([0.001, 0.002]))
    monkeypatch.setattr(comparison.diagnostics, "projection_loss", lambda *_: loss)
    notes = []
    report = posterior_report(projected(inducing), None, None, notes.append, chosen=chosen)  # pyright: ignore
    assert (report.inducing, report.excess_error) == (inducing, [0.0, error])
    assert len(notes) == (words is not None)
    if words is not None:
        assert "worse than the exact one by 5.0% in one-step error" in notes[0]
        assert words in notes[0]


def test_a_particle_that_leaves_its_safe_range_fails_even_if_it_comes_back():
    cart = dataclasses.replace(vfpilco.task("cartpole").machine.positions[0], safe=(-0.5, 0.5))
    machine = dataclasses.replace(TASK.machine, positions=(cart, *TASK.machine.positions[1:]))
    at_goal = dataclasses.replace(TASK, machine=machine, success=lambda q: bool(abs(q[-1, 0]) < 0.1))
    q = np.zeros((TASK.horizon + 1, 4, 2))
    q[10, 0, 0], q[20, 1, 0], q[-1, 2, 0] = 0.7, 0.4, 0.7  # one leaves, one stays inside, one misses the goal
    rollout = Rollout(q, np.zeros((TASK.horizon, 4, 1)), np.zeros(q.shape[:2]))  # pyright: ignore[reportArgumentType]
    assert success_chance(at_goal, rollout) == 0.5
    assert success_chance(dataclasses.replace(at_goal, machine=TASK.machine), rollout) == 0.75


def test_a_particle_that_reaches_the_goal_early_succeeds():
    ends = dataclasses.replace(TASK, ends=lambda q: bool(q[0] > 0.5), success=lambda q: False)
    q = np.zeros((TASK.horizon + 1, 4, 2))
    q[10, 0, 0] = 0.7
    rollout = Rollout(q, np.zeros((TASK.horizon, 4, 1)), np.zeros(q.shape[:2]))  # pyright: ignore[reportArgumentType]
    assert success_chance(ends, rollout) == 0.0
    assert success_chance(dataclasses.replace(ends, end_is_success=True), rollout) == 0.25
