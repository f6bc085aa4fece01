"""What a plant announces about itself must fit the task."""

from __future__ import annotations

import pytest
from peers import QUICK, SLACK, Peer, at_most, one_sentence

from vfpilco.data.failures import PlantError
from vfpilco.plants.tcp import RemotePlant

MISMATCHES = {
    "other positions": (
        {"positions": ["p", "theta"]},
        "has the positions 'p', 'theta' where the task has 'p', 'alpha'",
    ),
    "fewer positions": ({"positions": ["p"]}, "has the positions 'p' where the task has 'p', 'alpha'"),
    "other order": ({"positions": ["alpha", "p"]}, "same order"),
    "other inputs": ({"inputs": ["torque"]}, "has the inputs 'torque' where the task has 'force'"),
    "a smaller limit": ({"limits": [5]}, "accepts force up to 5 where the task has a limit of 10"),
    "another rate": ({"sampling_time": 0.05}, "is sampled every 0.05 s where the task is sampled every 0.0333333 s"),
    "another version": ({"version": 2}, "speaks version 2 of vfpilco-plant, but this is version 1"),
    "true as version": ({"version": True}, "speaks version True"),
    "another protocol": ({"protocol": "ssh"}, "does not speak vfpilco-plant"),
    "no protocol": ({"protocol": None}, "does not speak vfpilco-plant"),
    "positions that are not names": ({"positions": [1, {}]}, "announced positions [1, {}]: announce a list of names"),
    "positions that are not a list": ({"positions": "p"}, "announced positions 'p'"),
    "no limits": ({"limits": None}, "announced limits None: announce one positive number per input"),
    "a limit that is not a number": ({"limits": ["10"]}, "announced limits ['10']"),
    "a limit that is true": ({"limits": [True]}, "announced limits [True]"),
    "too many limits": ({"limits": [10, 10]}, "announced limits [10, 10]"),
    "a negative limit": ({"limits": [-10]}, "announced limits [-10]"),
    "no sampling time": ({"sampling_time": None}, "announced a sampling time of None"),
    "a sampling time of zero": ({"sampling_time": 0}, "announced a sampling time of 0"),
    "busy": ({"error": "busy with another learner"}, "reported 'busy with another learner'"),
    "escape sequences": ({"positions": ["p", "\x1b[2J\u202e"]}, "'\\x1b[2J\\u202e'"),
    "half a character": ({"error": "\ud800"}, "reported '\\ud800'"),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_a_plant_that_does_not_fit_the_task_is_refused_before_anything_is_sent(case, task):
    change, expected = MISMATCHES[case]
    with Peer() as peer:
        peer.hello |= change
        with at_most(SLACK), pytest.raises(PlantError) as error:
            RemotePlant.connect(peer.url, task, QUICK)
    message = one_sentence(error)
    assert message.startswith(f"The plant at {peer.url} ")
    assert expected in message
    assert peer.received == [[]]


def test_a_plant_with_larger_limits_and_unknown_fields_is_accepted(task):
    with Peer() as peer:
        peer.hello |= {"limits": [20.5], "sampling_time": 0.0333, "maker": {"name": "ACME"}}
        RemotePlant.connect(peer.url, task, QUICK).close()
    assert len(peer.received) == 1
