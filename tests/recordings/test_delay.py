from __future__ import annotations

import time

import delays
import numpy as np
import pytest

from vfpilco.data.trial import Trial
from vfpilco.recordings.delay import HYPOTHESES, Delay
from vfpilco.recordings.excitation import FIRST, MOST_PIECES, MOST_SAMPLES, Freedom, moving, pieces
from vfpilco.recordings.inspection import delay_of, inspect_trials

BEST = HYPOTHESES.index(1)


def stretches(*margins: float, rival: int | None = 2) -> tuple[tuple[float, ...], ...]:
    """Stretches that favour a delay of 1 by these margins over a rival, and clearly over all others."""
    logs = np.full((len(margins), len(HYPOTHESES)), -100.0)
    logs[:, BEST] = 0.0
    logs[:, HYPOTHESES.index(rival)] = -np.array(margins)
    return tuple(map(tuple, logs.tolist()))


# -- the verdict -------------------------------------------------------------------------------------------------


def test_evidence_of_several_stretches_adds_up():
    found = Delay(stretches(10.0, 4.0, 6.0))
    assert (found.samples, found.clear, found.sentence) == (1, True, "1 sample, clear")
    assert found.probabilities[1] == pytest.approx(1 / (1 + np.exp(-20)))
    assert found.log_evidence[2] == -20.0
    unknown = Delay(stretches(0.5, 0.1))
    assert unknown.samples is None
    assert unknown.sentence == "cannot be determined: 1 and 2 samples explain the motion about equally well"


def test_one_stretch_alone_makes_nothing_clear():
    assert Delay(stretches(50.0, 0.1, 0.1)).sentence == "1 sample, likely (99%)"


def test_a_delay_that_stretches_disagree_about_is_not_clear():
    assert Delay(stretches(9.0, 9.0, 9.0, 9.0, -3.0, -3.0)).sentence == "1 sample, likely (99%)"


def test_feedback_tempers_the_evidence():
    open_loop, closed = (Delay(stretches(6.0, 6.0, 6.0), Freedom(0.5, share)) for share in (0.0, 0.6))
    assert open_loop.clear
    assert closed.samples == 1
    assert not closed.clear


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Delay(stretches(1.0, 1.0, rival=None)), "the inputs do not move the positions enough"),
        (Delay(stretches(1.0, 1.0, rival=-1)), "computed from the positions, or logged one line late"),
        (Delay(stretches(1.0, 1.0), Freedom(0.001, 0.0)), "about equally well, because the inputs change slowly"),
        (Delay(stretches(1.0, 1.0), Freedom(0.5, 0.8)), "well, because the inputs are computed from the positions"),
        (Delay(unusable="the positions move too little"), "cannot be determined: the positions move too little"),
    ],
)
def test_what_is_unknown_has_a_reason(found, reason):
    assert found.samples is None
    assert not found.clear
    assert reason in found.sentence


def test_the_longest_delay_that_is_compared_is_not_reported():
    logs = [[0.0] * len(HYPOTHESES)] * 3
    longest = HYPOTHESES.index(-1) - 1
    best = tuple(tuple(90.0 if i == longest else log for i, log in enumerate(row)) for row in logs)
    assert Delay(best).samples is None
    assert "6 samples late or more" in Delay(best).sentence


def test_inputs_that_are_logged_late_are_never_clear():
    logs = np.full((4, len(HYPOTHESES)), -100.0)
    logs[:, 0], logs[:, HYPOTHESES.index(-1)] = -10.0, 0.0
    found = Delay(tuple(map(tuple, logs.tolist())))
    assert (found.samples, found.clear) == (-1, False)
    assert "unless a controller computed them" in found.sentence
    logs[:3, HYPOTHESES.index(-1)] = [90.0, -20.0, -20.0]  # stretches disagree
    assert Delay(tuple(map(tuple, logs.tolist()))).samples != -1


# -- what is compared --------------------------------------------------------------------------------------------


def test_long_recordings_are_cut_and_the_liveliest_pieces_are_taken():
    q = np.zeros((5000, 2))
    q[3000:4000] = np.cumsum(np.ones((1000, 2)), axis=0)
    found = pieces([(q, np.zeros((5000, 1))), (q[:20], np.zeros((20, 1)))])
    assert len(found) == MOST_PIECES
    assert max(len(part) for part, _ in found) <= MOST_SAMPLES + FIRST
    assert all(np.ptp(part) > 0 for part, _ in found)


def test_a_position_moves_if_it_covers_more_than_the_error_of_its_sensor():
    q = np.concatenate([np.tile([0.0, 1.0], 20), np.arange(40.0)])
    found = moving(q, 1.0)
    assert len(found) == len(q) - 1 - FIRST
    assert not found[: 40 - FIRST].any()
    assert found[-20:].all()


def test_inputs_computed_from_the_positions_are_distinguished_from_others():
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.standard_normal((200, 1)), axis=0)
    noise = rng.standard_normal((200, 1))
    assert Freedom.of(q, noise).feedback < 0.1
    assert Freedom.of(q, noise).new == pytest.approx(1.0, abs=0.1)
    assert Freedom.of(q, 0.3 * noise - 2 * q).feedback > 0.9
    assert Freedom.of(q, np.sin(0.02 * np.arange(200.0))[:, None]).new < 1e-6


# -- the judge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rig", delays.EXPLORED)
def test_the_delay_of_an_exploration_is_found_within_a_second(rig):
    made = delays.exploration(rig, 1, 0)
    _, q, u = delays.record(made)
    trial, machine = Trial(q, u, 1 / made.rate), delays.RIGS[rig].machine
    begun = time.process_time()
    assert delay_of([trial], machine, open_loop=True).samples == 1
    assert time.process_time() - begun < 1.5  # a second, on a machine that has nothing else to do


def test_trials_show_the_sensors_too():
    made = delays.exploration("cart-pole", 0, 1)
    _, q, u = delays.record(made)
    found = inspect_trials([Trial(q, u, 1 / made.rate)], delays.RIGS["cart-pole"].machine)
    np.testing.assert_allclose([p.noise for p in found.positions], [1e-3, 2e-3], rtol=0.25)
    assert [p.quantisation for p in found.positions] == [None, None]


@pytest.mark.parametrize(("rig", "drive"), [("motor", "set points"), ("slider", "set points"), ("cart-pole", "sines")])
def test_no_recording_is_confidently_wrong(rig, drive):
    made = delays.case(rig, drive, 0)
    assert delays.verdict(delays.found_in(made), delays.truth(made)) != delays.WRONG


@pytest.mark.long
def test_no_recording_of_the_judge_is_confidently_wrong():
    wrong = []
    for made in delays.all_cases(4, 4):
        found = delays.found_in(made)
        if delays.verdict(found, delays.truth(made)) == delays.WRONG:
            wrong.append((made, found.sentence))
    assert not wrong


@pytest.mark.long
def test_the_delay_of_nearly_every_exploration_is_right():
    verdicts = [delays.verdict(delays.found_in(made), delays.truth(made)) for made in delays.explorations(4, 5)]
    assert verdicts.count(delays.RIGHT) >= 0.95 * len(verdicts)
