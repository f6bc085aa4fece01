"""Which policy an optimisation keeps, and what it does when the cost collapses."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import numpy as np
import pytest

from vfpilco.data.watcher import Watcher
from vfpilco.rollout import optimise, race
from vfpilco.rollout.optimise import Optimisation
from vfpilco.rollout.optimiser_state import Best
from vfpilco.rollout.race import Start
from vfpilco.rollout.schedule import phases
from vfpilco.rollout.settings import OptimiserSettings


class Notes(Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@dataclasses.dataclass(frozen=True)
class Scripted(Optimisation):
    """Evaluations come from a list; everything else is real."""

    script: tuple[float, ...] = ()
    seen: list = dataclasses.field(default_factory=list)

    def evaluate(self, params, weight=None):
        self.seen.append(params)
        return np.full(self.settings.particles, self.script[min(len(self.seen), len(self.script)) - 1])


@pytest.fixture(scope="module")
def known(small, model):
    """What a short optimisation needs."""
    settings = OptimiserSettings(particles=4, steps=12, tolerance=0.0, gradient_decay=1.0)
    return small, model.posterior.cast("float32"), settings, jax.random.key(0)


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(optimise, "chunk_size", lambda *_: 2)


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def test_the_best_policy_is_kept_and_not_the_last(known, chunks_of_two):
    optimisation = Scripted(*known, script=(9.0, 5.0, 6.0, 5.5, 6.1, 6.2, 6.2))
    found = optimisation.run(watch := Notes())
    assert found.expected_cost == 5.0
    assert same(found.params, optimisation.seen[1])
    assert not same(found.params, optimisation.seen[-1])
    assert len(found.costs) == 12
    assert (found.step, found.steps, found.last_cost) == (4, 12, 6.2)
    assert watch.notes == []


def test_after_a_collapse_it_continues_from_the_best_policy_with_smaller_steps(known, chunks_of_two):
    optimisation = Scripted(*known, script=(9.0, 5.0, 6.4, 90.0, 4.9, 4.8))
    states = []
    found = optimisation.run(watch := Notes(), checkpoint=states.append)
    assert [state.halvings for state in states] == [0, 0, 0, 1, 1, 1, 1]
    assert same(states[3].adam.params, optimisation.seen[1])
    assert found.expected_cost == 4.8
    assert len(watch.notes) == 1
    assert "rose from 5 to 90" in watch.notes[0]


def test_after_a_collapse_gradients_that_were_chosen_look_less_far_ahead_before_steps_get_smaller(known, chunks_of_two):
    simulator, posterior, settings, key = known
    free = dataclasses.replace(settings, gradient_decay=0.0, steps=24)
    states = []
    script = (5.0, *itertools.repeat(90.0, 40))
    Scripted(simulator, posterior, free, key, script=script).run(watch := Notes(), checkpoint=states.append)
    shortest = race.DECAYS[-1]
    assert [state.decay for state in states[2::2]] == [*race.DECAYS[1:], *[shortest] * 4][: len(states[2::2])]
    assert [state.halvings for state in states[2::2]] == [0, 0, 1, 2, 3][: len(states[2::2])]
    assert "without a race" in watch.notes[0]
    assert "look less far ahead" in watch.notes[1]
    assert "half as large" in watch.notes[3]


def test_one_bad_evaluation_is_no_collapse(known, chunks_of_two):
    states = []
    Scripted(*known, script=(5.0, 90.0, 6.0, 90.0, 6.0, 90.0, 6.0)).run(watch := Notes(), checkpoint=states.append)
    assert states[-1].halvings == 0
    assert watch.notes == []


def test_an_optimisation_that_collapses_again_and_again_ends_with_its_best_policy(known, chunks_of_two):
    optimisation = Scripted(*known, script=(5.0, *itertools.repeat(90.0, 40)))
    long = dataclasses.replace(optimisation, settings=dataclasses.replace(optimisation.settings, steps=60))
    found = long.run(watch := Notes())
    assert len(watch.notes) == optimise.MOST_HALVINGS + 1
    assert found.expected_cost == 5.0
    assert len(found.costs) < 60


def test_a_policy_is_always_evaluated_on_the_same_particles(known):
    optimisation = Optimisation(*known)
    params = optimisation.start().adam.params
    np.testing.assert_array_equal(optimisation.evaluate(params), optimisation.evaluate(params))
    louder = {**params, "weights": 3 * params["weights"]}
    assert np.all(optimisation.evaluate(louder) != optimisation.evaluate(params))


def test_costs_that_are_not_finite_are_never_the_best():
    never, sometimes, finite = np.full(2, np.inf), np.array([1.0, np.inf]), np.array([2.0, 4.0])
    best = Best({"a": 1}, never).after({"a": 2}, finite).after({"a": 3}, sometimes)
    assert (best.params, best.cost, best.worse) == ({"a": 2}, 3.0, 1)


def test_the_gradient_decay_is_found_by_a_race(known, monkeypatch):
    """Every decay makes as many steps, and the winner goes on with its own decay."""
    simulator, posterior, settings, key = known
    monkeypatch.setattr(optimise, "SHARE", 0.5)  # of the first phase of 6 steps
    monkeypatch.setattr(optimise, "FEWEST", 3)
    costs = dict(zip(race.DECAYS, (7.0, 5.0, 8.0), strict=True))
    ran = []

    def evaluated(self, now, watch):
        ran.append((now.decay, len(now.costs)))
        return now._replace(best=Best(now.adam.params, np.full(4, costs[now.decay])))

    monkeypatch.setattr(Optimisation, "_evaluated", evaluated)
    free = dataclasses.replace(settings, gradient_decay=0.0)
    found = Optimisation(simulator, posterior, free, key).run(watch := Notes())
    assert ran[:3] == [(decay, 3) for decay in race.DECAYS]
    assert {decay for decay, _ in ran[3:]} == {race.DECAYS[1]}
    assert found.decay == race.DECAYS[1]
    assert len(found.costs) == settings.steps
    assert len(watch.notes) == 1
    assert watch.notes[0].startswith("Chosen: gradients look about 10 samples ahead, by a race (expected cost ")
    assert watch.notes[0].endswith("The optimisation starts from a new policy.")


def test_the_note_on_a_race_gives_what_its_runners_cost(known, monkeypatch):
    """The cost where a runner has arrived, on particles that no gradient has seen."""
    simulator, posterior, settings, key = known
    monkeypatch.setattr(optimise, "SHARE", 0.5)  # of the first phase of 6 steps: one chunk
    monkeypatch.setattr(optimise, "FEWEST", 3)
    free = dataclasses.replace(settings, gradient_decay=0.0)
    script = (9.0, 7.0, 9.0, 5.0, 9.0, 8.0, 4.0)  # after a runner's chunk, and in the end of its round
    found = Scripted(simulator, posterior, free, key, script=script).run(watch := Notes())
    assert found.decay == race.DECAYS[1]
    assert "10 samples ahead, by a race (expected cost 5; 7 with 50, 8 with 5)" in watch.notes[0]


@pytest.mark.parametrize(
    ("steps", "succeeded", "expected"),
    [(1000, False, 50), (1000, True, 25), (400, False, 20), (390, False, 19), (800, True, 20), (780, True, 19)],
)
def test_a_race_needs_400_steps_and_twice_as_many_after_a_success(steps, succeeded, expected):
    settings = OptimiserSettings(steps=steps)
    assert optimise.race_steps(phases(settings, succeeded)[0]) == expected
    assert optimise.can_race(settings, succeeded) == (expected >= optimise.FEWEST)


def test_without_a_race_gradients_look_as_far_ahead_as_any_and_the_note_says_so(known):
    simulator, posterior, settings, key = known
    free = dataclasses.replace(settings, gradient_decay=0.0)
    optimisation = Optimisation(simulator, posterior, free, key)
    assert optimisation.start().decay == race.DECAYS[0]
    found = optimisation.run(watch := Notes())
    assert found.decay == race.DECAYS[0]
    assert watch.notes == [
        "Chosen: gradients look about 50 samples ahead, without a race: 12 gradient steps are too few for one. The "
        "optimisation starts from a new policy."
    ]
    Optimisation(simulator, posterior, settings, key).run(given := Notes())
    assert given.notes == []


def test_of_two_known_policies_the_better_one_takes_part(known, monkeypatch):
    simulator, posterior, settings, key = known
    monkeypatch.setattr(optimise, "SHARE", 0.5)  # of the first phase of 6 steps
    monkeypatch.setattr(optimise, "FEWEST", 3)
    drawn = {name: np.float32(value) for name, value in simulator.policy.init(key).items()}
    quiet, loud = ({**drawn, "weights": k * drawn["weights"]} for k in (np.float32(0), np.float32(5)))
    starts = (Start("the last policy", loud), Start("the best policy so far", quiet), optimise.FRESH)
    optimisation = Optimisation(simulator, posterior, settings, key, starts)
    began = []
    monkeypatch.setattr(
        optimise, "race", lambda runners, run: began.extend(runner.start.name for runner in runners) or runners[0]
    )
    optimisation.run(Notes())
    names = {optimisation.evaluate(start.params).mean(): start.name for start in starts[:2]}
    assert began == [names[min(names)]]


@pytest.fixture
def always_enough_steps(monkeypatch):
    monkeypatch.setattr(optimise, "SHARE", 0.2)  # of the first phase of 6 steps
    monkeypatch.setattr(optimise, "FEWEST", 1)


def from_a_known_policy(known, script, to_beat, **changes) -> Scripted:
    given = jax.tree.map(np.float32, known[0].policy.init(jax.random.key(5)))
    starts = (Start("the last policy", given), optimise.FRESH)
    return Scripted(*known, starts=starts, to_beat=to_beat, script=script, **changes)


DISAPPOINTING = (9.0, *itertools.repeat(8.0, 7))
"""The known policy, and its optimisation of seven chunks."""


@pytest.mark.parametrize(
    ("second", "cost", "start"), [((7.0, 6.0), 6.0, "a new policy"), ((9.5,) * 7, 8.0, "the last policy")]
)
def test_a_policy_that_is_no_improvement_is_compared_with_one_from_scratch(
    known, chunks_of_two, always_enough_steps, second, cost, start
):
    # Evaluated: the known policy, its chunks, the chunks of the new one, and in the end the first one again.
    script = (*DISAPPOINTING, *(second + (7.0,) * 7)[:7], 8.0)
    states = []
    found = from_a_known_policy(known, script, 8.0).run(watch := Notes(), checkpoint=states.append)
    assert (found.expected_cost, found.start.name) == (cost, start)
    assert len(found.costs) == 24
    assert (found.steps, found.last_cost) == ((12, 8.0) if start == "a new policy" else (12, None))
    assert found.step == (4 if start == "a new policy" else 12)
    assert [state.rival.steps for state in states] == [0] * 7 + [12] * 7
    assert len(watch.notes) == 1
    assert f"(cost 8), so another one was optimised from scratch (cost {min(second):.3g})" in watch.notes[0]
    assert watch.notes[0].endswith("it is used." if start == "a new policy" else "it is not used.")


def test_the_optimisation_from_scratch_looks_another_way_ahead(known, chunks_of_two, always_enough_steps, monkeypatch):
    raced = []
    monkeypatch.setattr(
        optimise, "race", lambda runners, run: raced.append([runner.decay for runner in runners]) or runners[-1]
    )
    free = (*known[:2], dataclasses.replace(known[2], gradient_decay=0.0), known[3])
    found = from_a_known_policy(free, (*DISAPPOINTING, *(7.0,) * 7, 8.0), 8.0).run(watch := Notes())
    assert raced == [list(race.DECAYS), list(race.DECAYS[:1])]
    assert [note.split(".")[0] for note in watch.notes[:2]] == [
        "Chosen: gradients look about 5 samples ahead, without a race: 12 gradient steps are too few for one",
        "Chosen: gradients look about 50 samples ahead, unlike before",
    ]
    assert found.decay == race.DECAYS[0]


@pytest.mark.parametrize("to_beat", [8.1, np.inf])
def test_an_improvement_is_not_compared_with_anything(known, chunks_of_two, always_enough_steps, to_beat):
    found = from_a_known_policy(known, DISAPPOINTING, to_beat).run(watch := Notes())
    assert (found.expected_cost, len(found.costs), watch.notes) == (8.0, 12, [])


def test_a_new_policy_is_not_compared_with_another_new_one(known, chunks_of_two, always_enough_steps):
    found = Scripted(*known, to_beat=-np.inf, script=DISAPPOINTING).run(Notes())
    assert len(found.costs) == 12


@pytest.mark.parametrize("interrupted_after", [6, 7, 9])
def test_two_optimisations_are_continued_to_the_bit(known, chunks_of_two, always_enough_steps, interrupted_after):
    """Also if the first had ended, and the second had not begun."""
    simulator, posterior, settings, key = known
    given = jax.tree.map(np.float32, simulator.policy.init(jax.random.key(5)))
    starts = (Start("the last policy", given), optimise.FRESH)
    optimisation = Optimisation(simulator, posterior, settings, key, starts, to_beat=-np.inf)
    states = []
    whole = optimisation.run(Notes(), checkpoint=states.append)
    saved = states[interrupted_after - 1].arrays()
    restored = optimisation.start().restored(saved, settings.shards)
    continued = optimisation.run(Notes(), restored)
    assert same(continued.params, whole.params)
    assert (continued.step, continued.last_cost) == (whole.step, whole.last_cost)
    np.testing.assert_array_equal(continued.costs, whole.costs)


def test_a_policy_to_start_from_is_kept_if_nothing_better_is_found(known, chunks_of_two):
    given = jax.tree.map(np.float32, known[0].policy.init(jax.random.key(5)))
    optimisation = Scripted(*known, starts=(Start("the last policy", given),), script=(2.0, 9.0))
    found = optimisation.run(Notes())
    assert found.expected_cost == 2.0
    assert same(found.params, given)
    assert (found.step, found.last_cost) == (0, 9.0)


def test_with_the_rule_of_the_authors_a_phase_ends_when_the_cost_stalls(known, chunks_of_two, monkeypatch):
    monkeypatch.setattr(optimise, "stalled", lambda costs, phase: len(costs) >= (2, 6, 99)[phase])
    simulator, posterior, settings, key = known
    drifting = dataclasses.replace(settings, stop_rule="drift", steps=12)
    states = []
    found = Scripted(simulator, posterior, drifting, key, script=(5.0,)).run(Notes(), checkpoint=states.append)
    assert [state.phase for state in states] == [0, 1, 1, 1, 2, 2]
    assert len(found.costs) == 12
