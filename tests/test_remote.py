"""The learner's side of a plant on TCP, against plants that misbehave in every way we could think of."""

import dataclasses
import os
import socket
import struct
import time

import numpy as np
import pytest

from peers import HELLO, Peer, at_most
from vfpilco.errors import Interrupted, PlantError, UserError
from vfpilco.execute import execute
from vfpilco.plants.base import Plant
from vfpilco.plants.tcp import RemotePlant, Timeouts, parse
from vfpilco.plants.wire import LONGEST, Wire

QUICK = Timeouts(connect=1.0, reset=1.0, step=0.4, stop=1.0)
SLACK = 2.0  # seconds that a loaded machine may take on top


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The message, if a terminal can show it and a person read it."""
    said = str(error.value)
    assert said.isprintable()
    assert said.endswith(".")
    assert len(said) < 600
    return said


@pytest.mark.parametrize(
    ("address", "place"),
    [("tcp://127.0.0.1:5555", ("127.0.0.1", 5555)), ("tcp://[::1]:80", ("::1", 80)), ("tcp://rig:1", ("rig", 1))],
)
def test_addresses(address, place):
    assert parse(address) == place


@pytest.mark.parametrize(
    "address",
    [
        *("", "rig:5555", "http://rig:5555", "tcp://rig", "tcp://rig:0", "tcp://rig:65536", "tcp://rig:x"),
        *("tcp://:5555", "tcp://rig:5555/a", "tcp://me@rig:5555", "tcp://rig:5555?a=1", "tcp://[::1:5555"),
        "tcp://\x1b[31mrig",
    ],
)
def test_addresses_that_are_none(address):
    with pytest.raises(UserError, match="has the form tcp://host:port") as error:
        RemotePlant(address, ["p"], ["force"], [1.0], 0.1)
    assert "\x1b" not in one_sentence(error)


def test_time_outs_must_be_positive():
    with pytest.raises(UserError, match="time-out of step must be positive, got 0"):
        Timeouts(step=0)


def test_a_trial_from_hello_to_bye(task):
    with Peer() as peer:
        plant = RemotePlant.connect(peer.url, task)
        assert isinstance(plant, Plant)
        np.testing.assert_array_equal(plant.reset(7), [0.5, 1.0])
        np.testing.assert_array_equal(plant.step(np.array([1 / 3])), [0.5, 2.0])
        np.testing.assert_array_equal(plant.step(np.array([-10.0])), [0.5, 3.0])
        plant.stop()
        plant.close()
        plant.close()
    assert peer.heard == [
        [
            {"type": "hello", "protocol": "vfpilco-plant", "version": 1},
            {"type": "reset", "id": 1, "seed": 7},
            {"type": "step", "id": 2, "inputs": [1 / 3]},
            {"type": "step", "id": 3, "inputs": [-10.0]},
            {"type": "stop", "id": 4},
            {"type": "bye", "id": 5},
        ]
    ]


MISMATCHES = {
    "other positions": (
        {"positions": ["p", "theta"]},
        "has the positions 'p', 'theta' where the task has 'p', 'alpha'",
    ),
    "fewer positions": ({"positions": ["p"]}, "has the positions 'p' where the task has 'p', 'alpha'"),
    "other order": ({"positions": ["alpha", "p"]}, "same order"),
    "other inputs": ({"inputs": ["torque"]}, "has the inputs 'torque' where the task has 'force'"),
    "a smaller limit": ({"limits": [5]}, "takes force up to 5 where the task asks for up to 10"),
    "another rate": ({"sampling_time": 0.05}, "is sampled every 0.05 s where the task is every 0.0333333 s"),
    "another version": ({"version": 2}, "speaks version 2 of vfpilco-plant, and this is version 1"),
    "true as version": ({"version": True}, "speaks version True"),
    "another protocol": ({"protocol": "ssh"}, "does not speak vfpilco-plant"),
    "no protocol": ({"protocol": None}, "does not speak vfpilco-plant"),
    "positions that are no names": ({"positions": [1, {}]}, "announced positions [1, {}]: announce a list of names"),
    "positions that are no list": ({"positions": "p"}, "announced positions 'p'"),
    "no limits": ({"limits": None}, "announced limits None: announce one positive number per input"),
    "a limit that is no number": ({"limits": ["10"]}, "announced limits ['10']"),
    "a limit that is true": ({"limits": [True]}, "announced limits [True]"),
    "too many limits": ({"limits": [10, 10]}, "announced limits [10, 10]"),
    "a negative limit": ({"limits": [-10]}, "announced limits [-10]"),
    "no sampling time": ({"sampling_time": None}, "announced a sampling time of None"),
    "a sampling time of nothing": ({"sampling_time": 0}, "announced a sampling time of 0"),
    "busy": ({"error": "busy with another learner"}, "said 'busy with another learner'"),
    "escape sequences": ({"positions": ["p", "\x1b[2J\u202e"]}, "'\\x1b[2J\\u202e'"),
    "half a character": ({"error": "\ud800"}, "said '\\ud800'"),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_a_plant_that_is_not_that_of_the_task_is_refused_at_the_first_words(case, task):
    change, expected = MISMATCHES[case]
    with Peer() as peer:
        peer.hello |= change
        with at_most(SLACK), pytest.raises(PlantError) as error:
            RemotePlant.connect(peer.url, task, QUICK)
    said = one_sentence(error)
    assert said.startswith(f"The plant at {peer.url} ")
    assert expected in said
    assert peer.heard == [[]]


def test_a_plant_that_can_do_more_than_the_task_asks_for_is_welcome(task):
    with Peer() as peer:
        peer.hello |= {"limits": [20.5], "sampling_time": 0.0333, "maker": {"name": "ACME"}}
        RemotePlant.connect(peer.url, task, QUICK).close()
    assert len(peer.heard) == 1


def test_a_plant_that_cannot_be_reached(task):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        at_most(SLACK),
        pytest.raises(PlantError, match=r"cannot be reached \(Connection refused\): start it") as error,
    ):
        RemotePlant.connect(f"tcp://127.0.0.1:{port}", task)
    one_sentence(error)


def test_a_port_where_nobody_speaks(task):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with at_most(0.3 + SLACK), pytest.raises(PlantError, match=r"did not answer within 0\.3 s: check"):
            RemotePlant.connect(url, task, Timeouts(connect=0.3))


def lines(data: bytes):
    """Sends bytes in which ID stands for the number of the request."""
    return lambda peer, request: peer.send(data.replace(b"ID", str(request["id"]).encode()))


def drip(peer: Peer, request: dict) -> None:
    """A byte now and then: no pause is long, and the line never ends."""
    while not peer.over.wait(0.02):
        peer.send(b" ")


def half_close(peer: Peer, request: dict) -> None:
    peer.connection.shutdown(socket.SHUT_WR)


def reset_connection(peer: Peer, request: dict) -> None:
    """Ends the connection the hard way."""
    peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(peer.connection.detach())
    raise OSError


def flood(peer: Peer, request: dict) -> None:
    """As many lines as are taken."""
    while not peer.over.is_set():
        peer.send(b'{"type": "positions", "id": 0, "positions": [0, 0]}\n' * 1000)


def flood_without_end(peer: Peer, request: dict) -> None:
    while not peer.over.is_set():
        peer.send(b"[" * 100_000)


def good(positions: str) -> bytes:
    return f'{{"type": "positions", "id": ID, "positions": {positions}}}\n'.encode()


HOSTILE = {
    "an error": (lines(b'{"error": "the motor is hot"}\n'), "said 'the motor is hot': mend"),
    "an error with an escape": (lines(b'{"error": "\\u001b[31m\\u0007\\u202e"}\n'), r"said '\x1b[31m\x07\u202e'"),
    "a long error": (lines(b'{"error": "' + b"a" * 3000 + b'"}\n'), "aaa..."),
    "an error that is a list": (lines(b'{"error": [[[[[[1]]]]]]}\n'), "said [[[[...]]]]"),
    "no UTF-8": (lines(b'{"type": "\xff\xfe"}\n'), r"\\xff\\xfe"),
    "UTF-16": (lines('{"type": "stopped"}'.encode("utf-16") + b"\n"), "which is no JSON object"),
    "no JSON": (lines(b"positions 1 2\n"), "sent 'positions 1 2', which is no JSON object"),
    "terminal codes": (lines(b"\x1b]0;title\x07\x1b[2J\n"), r"'\x1b]0;title\x07\x1b[2J'"),
    "an empty line": (lines(b"\n"), "sent '', which is no JSON object"),
    "a list": (lines(b"[1, 2]\n"), "sent '[1, 2]', which is no JSON object"),
    "a number": (lines(b"12\n"), "which is no JSON object"),
    "deep nesting": (lines(b"[" * 4000 + b"\n"), "which is no JSON object"),
    "deep nesting that ends": (lines(b'{"a":' * 600 + b"1" + b"}" * 600 + b"\n"), "answered question None instead"),
    "deep positions": (lines(good("[" * 900 + "]" * 900)), "sent positions [[[[...]]]]"),
    "a long line": (lines(b"a" * (LONGEST + 1) + b"\n"), f"sent a line of more than {LONGEST} bytes, 'aaaa"),
    "a long line in time": (lines(b" " * LONGEST + good("[0, 0]")), f"sent a line of more than {LONGEST} bytes"),
    "NaN": (lines(good("[NaN, 0]")), "which is no JSON object"),
    "Infinity": (lines(good("[0, -Infinity]")), "which is no JSON object"),
    "a number without end": (lines(good("[0, 1e999]")), "sent alpha = inf, which is no finite number: check the"),
    "a huge whole number": (lines(good("[0, " + "9" * 400 + "]")), "sent alpha = 999999"),
    "a string": (lines(good('["0", 0]')), "sent p = '0', which is no finite number"),
    "true": (lines(good("[true, 0]")), "sent p = True, which is no finite number"),
    "null": (lines(good("[null, 0]")), "sent p = None, which is no finite number"),
    "too few positions": (lines(good("[0]")), "sent positions [0]: send a list of 2: p, alpha"),
    "too many positions": (lines(good("[0, 0, 0]")), "sent positions [0, 0, 0]"),
    "no positions": (lines(b'{"type": "positions", "id": ID}\n'), "sent positions None"),
    "positions by name": (lines(good('{"p": 0, "alpha": 0}')), "sent positions {'alpha': 0, 'p': 0}"),
    "an old number": (lines(b'{"type": "positions", "id": 1, "positions": [0, 0]}\n'), "question 1 instead of 2"),
    "a number to come": (lines(b'{"type": "positions", "id": 3, "positions": [0, 0]}\n'), "question 3 instead of 2"),
    "no number": (lines(b'{"type": "positions", "positions": [0, 0]}\n'), "answered question None instead of 2"),
    "a number that is none": (lines(b'{"type": "positions", "id": "2"}\n'), "answered question '2' instead of 2"),
    "another type": (lines(b'{"type": "stopped", "id": ID}\n'), "answered with type 'stopped'"),
    "an unknown type": (lines(b'{"type": ["x"], "id": ID}\n'), "answered with type ['x']"),
    "no type": (lines(b'{"id": ID, "positions": [0, 0]}\n'), "answered with type None"),
    "a second hello": (lines(b'{"type": "hello", "protocol": "vfpilco-plant", "version": 1}\n'), "question None"),
    "silence": (lambda peer, request: None, "did not answer within 0.4 s: check it and the network"),
    "half a line": (lines(b'{"type": "positions", '), "did not answer within 0.4 s"),
    "dripping bytes": (drip, "did not answer within 0.4 s"),
    "a half-closed connection": (half_close, "closed the connection"),
    "a reset connection": (reset_connection, "was lost (Connection reset by peer)"),
    "a flood of lines": (flood, "answered question 0 instead of 2"),
    "a flood without an end": (flood_without_end, f"sent a line of more than {LONGEST} bytes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_whatever_a_plant_does_the_learner_says_so_in_time_and_stops_it(case, task):
    misbehave, expected = HOSTILE[case]
    with Peer(misbehave) as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.reset(0)
        with at_most(0.4 + SLACK), pytest.raises(PlantError) as error:
            plant.step(np.array([1.0]))
        said = one_sentence(error)
        assert said.startswith(f"The plant at {peer.url}, asked to step, ")
        assert expected in said
        if case not in ("dripping bytes", "a flood of lines", "a flood without an end"):  # They do not listen any more.
            with at_most(1.0 + SLACK):
                plant.stop()
            assert peer.heard[-1][1]["type"] == "stop"
            np.testing.assert_array_equal(plant.reset(0)[0], 0.5)
        plant.close()


def test_a_reset_has_a_deadline_too(task):
    with Peer(drip, on="reset") as peer:
        plant = RemotePlant.connect(peer.url, task, dataclasses.replace(QUICK, reset=0.3))
        with at_most(0.3 + SLACK), pytest.raises(PlantError, match=r"asked to reset, did not answer within 0\.3 s"):
            plant.reset(0)
        plant.close()


def test_a_stop_has_a_deadline_too(task):
    with Peer(drip, on="stop") as peer:
        plant = RemotePlant.connect(peer.url, task, dataclasses.replace(QUICK, stop=0.3))
        plant.reset(0)
        with (
            at_most(0.3 + SLACK),
            pytest.raises(PlantError, match=r"asked to stop, did not answer within 0\.3 s: .* stands still\.$"),
        ):
            plant.stop()
        assert plant.moving
        plant.close()


def test_a_dripping_hello_meets_the_deadline(task):
    with Peer() as peer:
        peer.send = lambda message: drip(peer, {})
        with at_most(0.3 + SLACK), pytest.raises(PlantError, match=r"did not answer within 0\.3 s: check"):
            RemotePlant.connect(peer.url, task, Timeouts(connect=0.3))


def test_a_flood_does_not_fill_the_memory(task):
    with Peer(flood) as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.reset(0)
        wire = plant.wire
        with pytest.raises(PlantError):
            plant.step(np.array([1.0]))
        assert wire is not None
        assert 0 < len(wire.kept) < 2 * LONGEST
        plant.close()


def test_a_line_of_the_longest_length_is_taken(task):
    with Peer(lambda peer, request: peer.send(b'{"error": "a"}'.ljust(LONGEST - 1) + b"\n")) as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.reset(0)
        with pytest.raises(PlantError, match="said 'a'"):
            plant.step(np.array([1.0]))
        plant.close()


def test_an_answer_given_twice_is_not_taken_for_the_next_one(task):
    def twice(peer: Peer, request: dict) -> None:
        peer.answer(request)
        peer.answer(request)

    with Peer(twice) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        assert plant.step(np.array([1.0]))[1] == 2
        with pytest.raises(PlantError, match="answered question 2 instead of 3: answer every question once"):
            plant.step(np.array([1.0]))


def test_a_late_answer_is_never_taken_for_a_new_one(task):
    def late(peer: Peer, request: dict) -> None:
        time.sleep(0.6)
        peer.answer(request)

    with Peer(late) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        with pytest.raises(PlantError, match="did not answer within"):
            plant.step(np.array([1.0]))
        measured = plant.reset(0)
        assert measured[1] == peer.heard[-1][1]["id"] > 2


def test_what_is_said_unasked_between_trials_ends_that_connection(task):
    def talkative(peer: Peer, request: dict) -> None:
        peer.answer(request)
        peer.send({"type": "positions", "id": request["id"] + 1, "positions": [9, 9]})

    with Peer(talkative, on="stop") as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        plant.stop()
        time.sleep(0.1)
        assert plant.reset(0)[0] == 0.5
        assert len(peer.heard) == 2


def test_inputs_that_are_none_are_not_sent(task):
    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        for u in ([np.nan], [1.0, 2.0], 1.0):
            with pytest.raises(PlantError, match="were not sent to the plant"):
                plant.step(np.array(u))
        plant.step(np.array([1.0]))
    assert [request["type"] for request in peer.heard[0]] == ["hello", "reset", "step", "bye"]


def test_a_trial_that_fails_is_kept_and_the_plant_stopped(task):
    count = []

    def third(q: np.ndarray) -> np.ndarray:
        count.append(q)
        if len(count) == 3:
            peer.misbehave = lines(b'{"error": "emergency stop"}\n')
        return np.zeros(1)

    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        with pytest.raises(PlantError, match=r"said 'emergency stop': mend that and start again\.$") as e:
            execute(task, plant, third, 0)
        assert e.value.partial is not None
        assert e.value.partial.q.shape == (3, 2)
        assert not plant.moving
    assert [request["type"] for request in peer.heard[0]] == ["hello", "reset", "step", "step", "step", "stop"]
    assert [request["type"] for request in peer.heard[1]] == ["hello", "stop", "bye"]


def test_ctrl_c_in_a_step_stops_the_plant(task, monkeypatch):
    def interrupted(wire: Wire, deadline: float) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    def controller(q: np.ndarray) -> np.ndarray:
        monkeypatch.setattr(Wire, "receive", interrupted)
        return np.zeros(1)

    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        with pytest.raises(Interrupted):
            execute(task, plant, controller, 0)
        assert not plant.moving
    assert [request["type"] for request in peer.heard[1]] == ["hello", "stop", "bye"]


def test_a_plant_that_has_gone_for_good_is_told_with_its_stop(task):
    def die(peer: Peer, request: dict) -> None:
        peer.over.set()
        peer.listener.close()
        raise OSError

    with Peer(die) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        with at_most(QUICK.stop + SLACK), pytest.raises(PlantError) as error:
            execute(task, plant, lambda q: np.zeros(1), 0)
        said = one_sentence(error)
        assert "closed the connection" in said
        assert "cannot be reached (Connection refused)" in said
        assert said.startswith("Stop the machine by hand")


def test_a_plant_that_never_moved_needs_no_stop(task):
    with Peer() as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.close()
    with pytest.raises(PlantError, match="cannot be reached"):
        plant.reset(0)
    plant.stop()


def test_a_step_without_a_reset_is_refused(task):
    plant = RemotePlant("tcp://127.0.0.1:9", ["p"], ["force"], [1.0], 0.1)
    with pytest.raises(PlantError, match="is not connected: reset it first"):
        plant.step(np.zeros(1))


@pytest.mark.parametrize("when", ["between trials", "before stop"])
def test_a_connection_that_was_lost_is_made_anew(when, task):
    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        if when == "between trials":
            plant.stop()
        peer.connection.shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)
        if when == "before stop":
            plant.stop()
            assert peer.heard[1][1]["type"] == "stop"
        assert plant.reset(1)[0] == 0.5
        assert len(peer.heard) == 2
        assert peer.hello == {**HELLO}
