import pytest

import vfpilco
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings


@pytest.mark.parametrize(
    ("until", "successes", "ended"),
    [
        (0, [True, True], False),
        (0, [False] * 5, True),
        (1, [False, True], True),
        (2, [True], False),
        (2, [True, False, True], False),
        (2, [False, True, True], True),
        (7, [True] * 5, True),
    ],
)
def test_a_run_ends_after_its_trials_or_after_successes_in_a_row(until: int, successes: list[bool], ended: bool):
    plan = Plan(vfpilco.task("cartpole"), Settings(), trials=5, until_successes=until)
    assert plan.ended(successes) == ended
