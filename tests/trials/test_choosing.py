"""What is chosen from the data, and what is left alone because it is given by hand."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vfpilco
from vfpilco.model.noise import WhiteNoise
from vfpilco.tasks.sensors import TimingJitter
from vfpilco.trials.choosing import (
    KERNELS,
    MARGIN,
    MEMORIES,
    Candidate,
    Choices,
    can_jitter,
    choose,
    choose_memory,
    is_due,
)
from vfpilco.trials.execute import execute
from vfpilco.trials.plan import dynamics_of
from vfpilco.trials.settings import Settings

JITTERS = (0.0, 0.01, 0.03)


@pytest.fixture(scope="module")
def task():
    return vfpilco.task("cartpole")


@pytest.fixture(scope="module")
def first(task) -> Candidate:
    return Candidate(dynamics_of(Settings(), task.machine), KERNELS[0])


def scored(scores):
    """A fit that only knows the evidence of every kernel, position memory and jitter."""

    def fit(candidate: Candidate, most: int | None) -> Any:
        score = scores[KERNELS.index(candidate.kernel), candidate.m_q, candidate.jitter]
        return SimpleNamespace(candidate=candidate, score=(score / 2, score / 2), most=most)

    return fit


def found(task, first, scores, kernels=(), jitters=(), memories=()):
    """Index of the kernel, memory, jitter and reasons that are chosen by scores of (kernel, memory, jitter)."""
    chosen = choose(first, Choices(kernels, jitters, memories), task.machine, scored(scores))
    assert chosen.model.candidate == chosen.candidate
    assert chosen.model.most is None  # candidates are compared on some of the data, the chosen one is fitted to all
    candidate = chosen.candidate
    return KERNELS.index(candidate.kernel), candidate.m_q, candidate.jitter, chosen.reasons


def kernels_scored(*scores):
    return {(index, 2, 0.0): score for index, score in enumerate(scores)}


def test_the_kernel_with_the_higher_evidence_is_chosen_by_a_margin(task, first):
    assert found(task, first, kernels_scored(10, 10 + 0.9 * MARGIN, 0, 0), KERNELS)[0] == 0
    kernel, *_, reasons = found(task, first, kernels_scored(10, 10 + 1.1 * MARGIN, 0, 0), KERNELS)
    assert kernel == 1
    assert len(reasons) == 1
    assert reasons[0].startswith("Chosen: kernel se + linear(positions, rates, inputs), by 3 nats")


def test_of_kernels_with_close_evidence_the_present_one_is_kept_or_else_the_first_one_is_taken(task, first):
    close = kernels_scored(0, 20, 19, 20 + 0.9 * MARGIN)
    assert found(task, first, close, KERNELS)[0] == 1
    assert found(task, dataclasses.replace(first, kernel=KERNELS[2]), close, KERNELS)[0] == 1
    assert found(task, dataclasses.replace(first, kernel=KERNELS[3]), close, KERNELS)[0] == 3


def test_the_shortest_memory_that_explains_the_data_is_chosen(task, first):
    scores = {(0, 2, 0.0): 10.0, (0, 3, 0.0): 10.0 + 0.9 * MARGIN, (0, 4, 0.0): 11.0}
    assert found(task, first, scores, memories=MEMORIES)[1] == 2
    scores[0, 3, 0.0] = 10.0 + 1.1 * MARGIN
    _, m_q, _, reasons = found(task, first, scores, memories=MEMORIES)
    assert m_q == 3
    assert reasons[0].startswith("Chosen: m_q = 3")


def test_the_smallest_jitter_that_explains_the_data_is_chosen(task, first):
    scores = {(0, 2, 0.0): 10.0, (0, 2, 0.01): 40.0, (0, 2, 0.03): 40.0 + 0.9 * MARGIN}
    assert found(task, first, scores, jitters=JITTERS)[2] == 0.01
    scores[0, 2, 0.03] = 40.0 + 1.1 * MARGIN
    assert found(task, first, scores, jitters=JITTERS)[2] == 0.03


def test_a_jitter_found_before_can_be_given_up(task, first):
    scores = {(0, 2, 0.0): 10.0, (0, 2, 0.01): 10.0, (0, 2, 0.03): 10.0}
    chosen = choose(first.jittered(0.03, task.machine), Choices(jitters=JITTERS), task.machine, scored(scores))
    assert chosen.candidate == first
    assert not isinstance(chosen.candidate.dynamics.sensor, TimingJitter)


def test_larger_ones_are_tried_only_while_that_helps(task, first):
    """The evidence of the largest one is not even computed."""
    scores = {(0, 2, 0.0): 10.0, (0, 2, 0.01): 9.0, (0, 3, 0.0): 9.0}
    assert found(task, first, scores, jitters=JITTERS, memories=MEMORIES)[1:3] == (2, 0.0)


def test_one_choice_builds_on_the_one_before(task, first):
    """The jitter is compared with the kernel that was chosen, the memory with both."""
    scores = {
        **kernels_scored(0, 20, 0, 0),
        **{(1, 2, jitter): score for jitter, score in ((0.01, 30.0), (0.03, 20.0))},
        **{(1, m_q, 0.01): score for m_q, score in ((3, 40.0), (4, 30.0))},
    }
    assert found(task, first, scores, KERNELS, JITTERS, MEMORIES)[:3] == (1, 3, 0.01)


@pytest.mark.parametrize(
    ("steps", "due"),
    [
        ([90], True),  # the first choice, after one exploration
        ([90, 90], True),
        ([90, 90, 90], False),
        ([90, 90, 90, 90], True),  # 360, twice the 180 of the second choice
        ([90] * 5, False),
        ([90] * 8, True),
        ([90, 20], False),  # a trial that was cut short
        ([90, 20, 90], True),
    ],
)
def test_choices_are_made_anew_when_the_data_have_doubled(steps, due):
    assert is_due(steps) == due


def test_what_is_given_by_hand_is_not_chosen(task, first):
    assert found(task, first, {(0, 2, 0.0): 1.0}) == (0, 2, 0.0, ())


def test_a_jitter_is_not_looked_for_where_one_is_declared_or_noise_is_white(task):
    assert can_jitter(dynamics_of(Settings(), task.machine))
    declared = Settings(sensor=TimingJitter(task.machine.sensor, 0.02))
    assert not can_jitter(dynamics_of(declared, task.machine))
    assert not can_jitter(dynamics_of(Settings().replace(noise=WhiteNoise()), task.machine))


@pytest.mark.parametrize("late", [0, 1, 2])
def test_memory_and_policy_reach_back_as_far_as_the_delay(task, late):
    from vfpilco.machines.cartpole.plant import CartPole
    from vfpilco.machines.cartpole.task import SAMPLING_TIME, SENSOR

    plant = CartPole(SAMPLING_TIME, SENSOR, latency=late * SAMPLING_TIME)
    trial = execute(task, plant, task.explorer(100, 0), 100)
    state, why = choose_memory([trial], task.machine)
    assert (state.m_u, state.policy_m_u) == (1 + late, late)
    assert why.startswith(f"Chosen: m_u = {1 + late}")


def test_without_motion_the_memory_is_the_default(task):
    still = vfpilco.Trial(np.zeros((91, 2)), np.zeros((90, 1)), 1 / 30)
    state, why = choose_memory([still], task.machine)
    assert (state.m_q, state.m_u, state.policy_m_u) == (2, 1, 0)
    assert "cannot" in why
