"""What an optimisation chose, in words: horizon, start, and which of its policies is executed."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.rollout.choices import horizon_words, start_words
from vfpilco.rollout.optimised import Optimised
from vfpilco.rollout.race import DECAYS, Runner, Start

LAST = Start("the last policy")


def runners(*costs: float) -> list[Runner]:
    return [Runner(LAST, decay, None, cost) for decay, cost in zip(DECAYS, costs, strict=False)]


def test_after_a_race_the_expected_costs_of_all_runners_are_given():
    ran = runners(31.24, 25.4, float("inf"))
    assert horizon_words(ran[1], ran, 1000) == (
        "Chosen: gradients look about 10 samples ahead, by a race (expected cost 25.4; 31.2 with 50, not finite with "
        "5)."
    )
    assert horizon_words(ran[0], ran[:2], 1000, again=True) == (
        "Chosen: gradients look about 50 samples ahead, unlike before, by a race (expected cost 31.2; 25.4 with 10)."
    )


def test_without_a_race_none_is_claimed():
    first = runners(float("inf"))[0]
    assert horizon_words(first, [], 200) == (
        "Chosen: gradients look about 50 samples ahead, without a race: 200 gradient steps are too few for one."
    )
    assert horizon_words(first, [], 1000, again=True) == (
        "Chosen: gradients look about 50 samples ahead, unlike before."
    )


def test_the_start_is_explained_where_there_were_two():
    assert start_words("a new policy", {}) == "The optimisation starts from a new policy."
    assert start_words("the last policy", {"the last policy": 3.0}) == "The optimisation starts from the last policy."
    assert start_words("the best policy so far", {"the best policy so far": 3.14159, "the last policy": 45.67}) == (
        "The optimisation starts from the best policy so far (expected cost 3.14; the last policy is expected to cost "
        "45.7)."
    )


def optimised(cost: float, step: int, last: float | None) -> Optimised:
    return Optimised({}, cost, np.empty(0), LAST, 0.9, step=step, steps=850, last_cost=last)


@pytest.mark.parametrize(
    ("cost", "step", "last", "words"),
    [
        (
            12.34,
            725,
            14.1,
            "Chosen: the policy after 725 of 850 gradient steps (expected cost 12.3), not the last one (14.1).",
        ),
        (12.34, 725, None, "Chosen: the policy after 725 of 850 gradient steps (expected cost 12.3)."),
        (
            12.34,
            0,
            14.1,
            "Chosen: the policy that the optimisation started from (expected cost 12.3), because none of 850 gradient "
            "steps improved it.",
        ),
        (12.34, 850, 12.34, ""),
        (12.34, 825, 12.345, ""),
    ],
)
def test_which_policy_is_executed_is_said_unless_it_is_the_last_or_costs_as_much(cost, step, last, words):
    assert optimised(cost, step, last).chosen == words
