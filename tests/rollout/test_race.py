"""A race: the better half continues."""

from __future__ import annotations

import pytest

from vfpilco.common import interrupts
from vfpilco.rollout.race import DECAYS, Runner, Start, others, race, rounds, shorter


@pytest.mark.parametrize(("runners", "sizes"), [(1, []), (2, [2]), (3, [3]), (4, [4, 2]), (8, [8, 4, 2]), (6, [6, 3])])
def test_the_better_half_takes_part_in_the_next_round(runners, sizes):
    assert rounds(runners) == sizes


def test_the_winner_is_the_best_of_the_last_round_and_has_made_every_round():
    """The fourth is slow at first: a race is short-sighted, but only by a round."""
    costs = {"a": (5, 9), "b": (4, 3), "c": (8, 1), "d": (6, 2)}

    def run(runner):
        return runner._replace(state=runner.state + 1, cost=costs[runner.start.name][runner.state])

    runners = [Runner(Start(name), 1.0, 0) for name in costs]
    winner = race(runners, run)
    assert (winner.start.name, winner.state, winner.cost) == ("b", 2, 3)


def test_a_race_can_be_interrupted_between_two_runners(monkeypatch):
    ran = []

    def check():
        if len(ran) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "check", check)
    with pytest.raises(KeyboardInterrupt):
        race([Runner(Start(str(i)), 1.0, 0) for i in range(4)], lambda runner: ran.append(runner) or runner)
    assert len(ran) == 2


def test_the_other_decays_are_far_sighted_if_one_is_short_sighted():
    assert others(DECAYS[0]) == DECAYS[1:]
    assert others(DECAYS[1]) == others(DECAYS[2]) == DECAYS[:1]


def test_the_next_decay_looks_less_far_ahead_until_there_is_none():
    assert [shorter(decay) for decay in DECAYS] == [*DECAYS[1:], DECAYS[-1]]
