"""Exploring with care."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vfpilco
from vfpilco.data.trial import Trial
from vfpilco.data.watcher import Watcher
from vfpilco.storage.store import Store
from vfpilco.trials.exploring import (
    FASTEST,
    FIRST,
    LEAST,
    MOST,
    SMALLER,
    Growing,
    cautious_share,
    enough,
    explorations_words,
    explorer,
    size_reached,
)
from vfpilco.trials.learner import Learner
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings


@pytest.fixture
def task():
    return vfpilco.task("cartpole")


def constant(q):
    return np.array([10.0])


def test_inputs_grow_from_small_to_their_full_size_within_a_tenth_of_a_trial(task):
    control = Growing(constant, task.machine, task.horizon)
    u = [float(control(np.zeros(2))[0]) for _ in range(task.horizon)]
    assert u[0] == pytest.approx(FIRST * 10)
    assert np.all(np.diff(u) >= 0)
    assert u[task.horizon // 10 + 1] == pytest.approx(10)


def test_inputs_shrink_while_an_angle_turns_too_fast_but_never_vanish(task):
    control = Growing(constant, task.machine, task.horizon)
    for _ in range(task.horizon):
        control(np.zeros(2))
    spinning = [float(control(np.array([0.0, 1.1 * FASTEST * i]))[0]) for i in range(1, 60)]
    assert np.all(np.diff(spinning) <= 0)
    assert spinning[-1] == pytest.approx(FIRST * 10)


def test_a_length_may_move_fast_but_not_near_the_end_of_its_safe_range(task):
    guarded = guarded_cart(task)
    for place, grows in ((0.0, True), (0.3, True), (0.45, False), (-0.45, False)):
        control = Growing(constant, guarded, task.horizon)
        u = [float(control(np.array([place, 0.0]))[0]) for _ in range(20)]
        assert (u[-1] > u[0]) == grows, place


def guarded_cart(task, half: float = 0.5):
    cart, pole = task.machine.positions
    return dataclasses.replace(task.machine, positions=(dataclasses.replace(cart, safe=(-half, half)), pole))


def test_on_a_machine_with_a_safe_range_inputs_grow_until_the_middle_of_the_trial(task):
    control = Growing(constant, guarded_cart(task), task.horizon)
    u = [float(control(np.zeros(2))[0]) for _ in range(task.horizon)]
    assert u[task.horizon // 10] < 5
    assert u[task.horizon // 2 - 2] < 10
    assert u[task.horizon // 2 + 1] == pytest.approx(10)


@pytest.mark.parametrize(("speed", "grows"), [(0.02, True), (0.05, False), (-0.05, False)])
def test_inputs_do_not_grow_while_the_cart_is_on_its_way_to_the_end_of_the_rail(task, speed, grows):
    control = Growing(constant, guarded_cart(task), task.horizon)
    u = [float(control(np.array([speed * i, 0.0]))[0]) for i in range(3)]
    assert (u[-1] > u[0]) == grows


def test_inputs_are_smaller_after_every_exploration_that_was_cut_short_but_never_vanish(task):
    full, cut = trial(task.horizon), trial(20)
    shares = [cautious_share(task, explored) for explored in ([], [full], [cut], [full, cut], [cut, cut], [cut] * 9)]
    assert shares == pytest.approx([1.0, 1.0, SMALLER, SMALLER, SMALLER**2, LEAST])


def test_a_run_explores_with_smaller_inputs_after_one_that_left_the_range(task):
    narrow = dataclasses.replace(task, machine=guarded_cart(task, 0.05))
    plan = Plan(narrow, Settings(), 0, 1)
    learner = Learner(plan, narrow.machine.plant(), Store(), Watcher())
    for i in range(3):
        learner.explore(i)
    first, second, third = learner.result.explored
    assert first.steps < task.horizon
    share = [float(np.abs(t.u[0] / task.exploring_inputs(0, i)[0])[0]) for i, t in enumerate((first, second, third))]
    assert share == pytest.approx([FIRST, FIRST * SMALLER, FIRST * SMALLER**2])


def test_a_feedback_controller_is_left_alone():
    task = vfpilco.task("ur5")
    q = np.asarray(task.reference[0]) - 0.1
    np.testing.assert_array_equal(explorer(task, 3, 0)(q), task.explorer(3, 0)(q))


def trial(steps: int) -> Trial:
    return Trial(np.zeros((steps + 1, 2)), np.zeros((steps, 1)), 1 / 30)


def test_short_explorations_are_repeated_until_there_is_enough_data(task):
    assert not enough(task, [])
    assert enough(task, [trial(90)])
    assert not enough(task, [trial(20), trial(20)])
    assert enough(task, [trial(20), trial(20), trial(5)])
    assert enough(task, [trial(1)] * MOST)


def test_at_least_as_many_explorations_are_made_as_the_task_wants(task):
    assert not enough(dataclasses.replace(task, explorations=2), [trial(90)])


def turning(steps: int, speed: float) -> Trial:
    """A pole that turns steadily, by so many rad in a sample."""
    q = np.zeros((steps + 1, 2))
    q[:, 1] = speed * np.arange(steps + 1)
    return Trial(q, np.zeros((steps, 1)), 1 / 30)


def test_the_size_that_inputs_reached_follows_from_what_was_measured(task):
    assert size_reached(task, [trial(90)]) == 1.0
    assert size_reached(task, [turning(90, 1.1 * FASTEST)]) == FIRST
    growth = FIRST ** (-1 / 9)  # full size after a tenth of 90 samples; the first one has no motion before it
    assert size_reached(task, [trial(5)]) == pytest.approx(FIRST * growth**4)
    assert size_reached(task, [trial(5), trial(20)]) == pytest.approx(SMALLER)
    assert size_reached(task, [turning(90, 1.1 * FASTEST)], first=1.0) == 1.0
    assert size_reached(vfpilco.task("ur5"), [trial(5)]) == 1.0


def test_the_size_is_that_of_the_inputs_which_were_applied(task):
    narrow = dataclasses.replace(task, machine=guarded_cart(task, 0.05))
    learner = Learner(Plan(narrow, Settings(), 0, 1), narrow.machine.plant(), Store(), Watcher())
    learner.explore(0)
    explored, drawn = learner.result.explored, task.exploring_inputs(0, 0)
    assert explored[0].steps < task.horizon
    applied = np.abs(explored[0].u / drawn[: explored[0].steps]).max()
    assert size_reached(narrow, explored) == pytest.approx(applied)


def test_explorations_that_were_repeated_or_stayed_small_are_explained(task):
    assert explorations_words(task, [trial(90)]) == []
    assert explorations_words(dataclasses.replace(task, explorations=2), [trial(90), trial(90)]) == []
    assert explorations_words(task, [trial(20), trial(90)]) == [
        "Chosen: 2 explorations, because the first were cut short; together they have 110 samples, a complete trial "
        "has 90."
    ]
    assert explorations_words(task, [turning(90, 1.1 * FASTEST)]) == [
        "Chosen: exploring inputs of up to 20 % of their full size; they grow only while the machine is calm."
    ]
    assert explorations_words(task, [trial(1)] * MOST)[0].startswith(f"Chosen: {MOST} explorations, the most; together")


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (
            [],
            "The exploration has only 8 samples of 90: another one follows, with inputs of at most 70 % of their full",
        ),
        ([50], "The exploration has only 8 samples of 90, but all explorations together have enough to learn from."),
        ([1] * (MOST - 1), "and none follows, because 10 are the most: use smaller inputs (--gentle, --slew)"),
    ],
)
def test_after_a_short_exploration_a_note_says_what_follows(task, before, words):
    watch = Notes()
    learner = Learner(Plan(task, Settings(), 0, 1), task.machine.plant(), Store(), watch)
    for steps in before:
        learner.journal.record(trial(steps), "explore")
    learner.journal.examined(trial(8), exploring=True)
    assert len(watch.notes) == 1
    assert words in watch.notes[0]
    assert ("--gentle" in watch.notes[0]) == (len(before) == MOST - 1)
    learner.journal.examined(trial(8))
    assert "use smaller inputs (--gentle, --slew)" in watch.notes[1]


def test_the_note_before_the_first_model_is_true_of_a_run(task):
    narrow = dataclasses.replace(task, machine=guarded_cart(task, 0.05))
    watch = Notes()
    learner = Learner(Plan(narrow, Settings(), 0, 1), narrow.machine.plant(), Store(), watch)
    while not enough(narrow, learner.result.explored):
        learner.explore(len(learner.result.explored))
    number = len(learner.result.explored)
    assert number > 1
    assert sum("another one follows" in note for note in watch.notes) <= number - 1
    assert not [note for note in watch.notes if "--gentle" in note and number < MOST]
    assert learner.knowledge.remarks[0].startswith(f"Chosen: {number} explorations, ")
    assert "of their full size" in learner.knowledge.remarks[1]


class Notes(Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_inputs_may_be_applied_as_they_were_drawn(task):
    control = Growing(constant, task.machine, task.horizon, first=1.0)
    turning = [np.array([0.0, 2.0 * FASTEST * t]) for t in range(5)]
    assert [float(control(q)[0]) for q in turning] == [10.0] * 5


def test_an_exploration_that_is_given_replaces_that_of_the_task(task):
    plan = Plan(task, Settings().replace(exploration=vfpilco.SumOfSines(), first_share=1.0), seed=3)
    expected = vfpilco.SumOfSines().inputs(np.random.default_rng([3, 0]), 90, 1 / 30, np.array([10.0]))
    control = explorer(plan.task, 3, 0, plan.settings.limits.first_share)
    np.testing.assert_array_equal([control(np.zeros(2)) for _ in range(90)], expected)
    assert Plan(task, Settings()).task is task
