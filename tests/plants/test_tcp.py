"""The learner's side of a plant on TCP, against plants that misbehave in many ways."""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
import time

import numpy as np
import pytest
from peers import HELLO, QUICK, SLACK, Peer, at_most, one_sentence

from vfpilco.common.errors import UserError
from vfpilco.data.failures import Interrupted, PlantError
from vfpilco.plants.tcp import RemotePlant, Timeouts, parse
from vfpilco.plants.wire import LONGEST, Wire
from vfpilco.tasks.plant import Plant
from vfpilco.trials.execute import execute


@pytest.mark.parametrize(
    ("address", "place"),
    [("tcp://127.0.0.1:5555", ("127.0.0.1", 5555)), ("tcp://[::1]:80", ("::1", 80)), ("tcp://rig:1", ("rig", 1))],
)
def test_valid_addresses_are_parsed(address, place):
    assert parse(address) == place


@pytest.mark.parametrize(
    "address",
    [
        *("", "rig:5555", "http://rig:5555", "tcp://rig", "tcp://rig:0", "tcp://rig:65536", "tcp://rig:x"),
        *("tcp://:5555", "tcp://rig:5555/a", "tcp://me@rig:5555", "tcp://rig:5555?a=1", "tcp://[::1:5555"),
        "tcp://\x1b[31mrig",
    ],
)
def test_invalid_addresses_are_refused(address):
    with pytest.raises(UserError, match="has the form tcp://host:port") as error:
        RemotePlant(address, ["p"], ["force"], [1.0], 0.1)
    assert "\x1b" not in one_sentence(error)


def test_timeouts_must_be_positive():
    with pytest.raises(UserError, match="timeout of step must be positive, got 0"):
        Timeouts(step=0)


def test_requests_of_a_trial_from_hello_to_bye(task):
    with Peer() as peer:
        plant = RemotePlant.connect(peer.url, task)
        assert isinstance(plant, Plant)
        np.testing.assert_array_equal(plant.reset(7), [0.5, 1.0])
        np.testing.assert_array_equal(plant.step(np.array([1 / 3])), [0.5, 2.0])
        np.testing.assert_array_equal(plant.step(np.array([-10.0])), [0.5, 3.0])
        plant.stop()
        plant.close()
        plant.close()
    assert peer.received == [
        [
            {"type": "hello", "protocol": "vfpilco-plant", "version": 1},
            {"type": "reset", "id": 1, "seed": 7},
            {"type": "step", "id": 2, "inputs": [1 / 3]},
            {"type": "step", "id": 3, "inputs": [-10.0]},
            {"type": "stop", "id": 4},
            {"type": "bye", "id": 5},
        ]
    ]


def test_an_unreachable_plant_is_reported(task):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        at_most(SLACK),
        pytest.raises(PlantError, match=r"cannot be reached \(Connection refused\): start it") as error,
    ):
        RemotePlant.connect(f"tcp://127.0.0.1:{port}", task)
    one_sentence(error)


def test_a_silent_port_is_reported_after_the_timeout(task):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with at_most(0.3 + SLACK), pytest.raises(PlantError, match=r"did not answer within 0\.3 s: check"):
            RemotePlant.connect(url, task, Timeouts(connect=0.3))


def lines(data: bytes):
    """Sends bytes in which ID is replaced by the number of the request."""
    return lambda peer, request: peer.send(data.replace(b"ID", str(request["id"]).encode()))


def drip(peer: Peer, request: dict) -> None:
    """Sends a byte every 20 ms: no pause is long, and the line never ends."""
    while not peer.ended.wait(0.02):
        peer.send(b" ")


def half_close(peer: Peer, request: dict) -> None:
    peer.connection.shutdown(socket.SHUT_WR)


def reset_connection(peer: Peer, request: dict) -> None:
    """Resets the connection instead of closing it."""
    peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(peer.connection.detach())
    raise OSError


def flood(peer: Peer, request: dict) -> None:
    """Sends lines as fast as possible."""
    while not peer.ended.is_set():
        peer.send(b'{"type": "positions", "id": 0, "positions": [0, 0]}\n' * 1000)


def flood_without_end(peer: Peer, request: dict) -> None:
    while not peer.ended.is_set():
        peer.send(b"[" * 100_000)


def good(positions: str) -> bytes:
    return f'{{"type": "positions", "id": ID, "positions": {positions}}}\n'.encode()


HOSTILE = {
    "an error": (lines(b'{"error": "the motor is hot"}\n'), "reported 'the motor is hot': fix"),
    "an error with an escape": (lines(b'{"error": "\\u001b[31m\\u0007\\u202e"}\n'), r"reported '\x1b[31m\x07\u202e'"),
    "a long error": (lines(b'{"error": "' + b"a" * 3000 + b'"}\n'), "aaa..."),
    "an error that is a list": (lines(b'{"error": [[[[[[1]]]]]]}\n'), "reported [[[[...]]]]"),
    "invalid UTF-8": (lines(b'{"type": "\xff\xfe"}\n'), r"\\xff\\xfe"),
    "UTF-16": (lines('{"type": "stopped"}'.encode("utf-16") + b"\n"), "which is not a JSON object"),
    "not JSON": (lines(b"positions 1 2\n"), "sent 'positions 1 2', which is not a JSON object"),
    "terminal codes": (lines(b"\x1b]0;title\x07\x1b[2J\n"), r"'\x1b]0;title\x07\x1b[2J'"),
    "an empty line": (lines(b"\n"), "sent '', which is not a JSON object"),
    "a list": (lines(b"[1, 2]\n"), "sent '[1, 2]', which is not a JSON object"),
    "a number": (lines(b"12\n"), "which is not a JSON object"),
    "deep nesting": (lines(b"[" * 4000 + b"\n"), "which is not a JSON object"),
    "deep nesting that ends": (lines(b'{"a":' * 600 + b"1" + b"}" * 600 + b"\n"), "answered request None instead"),
    "deep positions": (lines(good("[" * 900 + "]" * 900)), "sent positions [[[[...]]]]"),
    "a long line": (lines(b"a" * (LONGEST + 1) + b"\n"), f"sent a line of more than {LONGEST} bytes, 'aaaa"),
    "a long line in time": (lines(b" " * LONGEST + good("[0, 0]")), f"sent a line of more than {LONGEST} bytes"),
    "NaN": (lines(good("[NaN, 0]")), "which is not a JSON object"),
    "Infinity": (lines(good("[0, -Infinity]")), "which is not a JSON object"),
    "a number without end": (lines(good("[0, 1e999]")), "sent alpha = inf, which is not a finite number: check the"),
    "a huge integer": (lines(good("[0, " + "9" * 400 + "]")), "sent alpha = 999999"),
    "a string": (lines(good('["0", 0]')), "sent p = '0', which is not a finite number"),
    "true": (lines(good("[true, 0]")), "sent p = True, which is not a finite number"),
    "null": (lines(good("[null, 0]")), "sent p = None, which is not a finite number"),
    "too few positions": (lines(good("[0]")), "sent positions [0]: send a list of 2: p, alpha"),
    "too many positions": (lines(good("[0, 0, 0]")), "sent positions [0, 0, 0]"),
    "no positions": (lines(b'{"type": "positions", "id": ID}\n'), "sent positions None"),
    "positions by name": (lines(good('{"p": 0, "alpha": 0}')), "sent positions {'alpha': 0, 'p': 0}"),
    "an old id": (lines(b'{"type": "positions", "id": 1, "positions": [0, 0]}\n'), "request 1 instead of 2"),
    "a future id": (lines(b'{"type": "positions", "id": 3, "positions": [0, 0]}\n'), "request 3 instead of 2"),
    "no id": (lines(b'{"type": "positions", "positions": [0, 0]}\n'), "answered request None instead of 2"),
    "an id that is not a number": (lines(b'{"type": "positions", "id": "2"}\n'), "answered request '2' instead of 2"),
    "another type": (lines(b'{"type": "stopped", "id": ID}\n'), "answered with type 'stopped'"),
    "an unknown type": (lines(b'{"type": ["x"], "id": ID}\n'), "answered with type ['x']"),
    "no type": (lines(b'{"id": ID, "positions": [0, 0]}\n'), "answered with type None"),
    "a second hello": (lines(b'{"type": "hello", "protocol": "vfpilco-plant", "version": 1}\n'), "request None"),
    "silence": (lambda peer, request: None, "did not answer within 0.4 s: check it and the network"),
    "half a line": (lines(b'{"type": "positions", '), "did not answer within 0.4 s"),
    "dripping bytes": (drip, "did not answer within 0.4 s"),
    "a half-closed connection": (half_close, "closed the connection"),
    "a reset connection": (reset_connection, "was lost (Connection reset by peer)"),
    "a flood of lines": (flood, "answered request 0 instead of 2"),
    "a flood without an end": (flood_without_end, f"sent a line of more than {LONGEST} bytes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_misbehaviour_is_reported_in_time_and_the_plant_is_stopped(case, task):
    misbehave, expected = HOSTILE[case]
    with Peer(misbehave) as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.reset(0)
        with at_most(0.4 + SLACK), pytest.raises(PlantError) as error:
            plant.step(np.array([1.0]))
        message = one_sentence(error)
        assert message.startswith(f"The plant at {peer.url}, asked to step, ")
        assert expected in message
        if case not in ("dripping bytes", "a flood of lines", "a flood without an end"):  # These read nothing any more.
            with at_most(1.0 + SLACK):
                plant.stop()
            assert peer.received[-1][1]["type"] == "stop"
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
            pytest.raises(PlantError, match=r"asked to stop, did not answer within 0\.3 s: .* does not move\.$"),
        ):
            plant.stop()
        assert plant.moving
        plant.close()


def test_a_dripping_hello_has_a_deadline_too(task):
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
        assert 0 < len(wire.buffer) < 2 * LONGEST
        plant.close()


def test_a_line_of_the_maximum_length_is_accepted(task):
    with Peer(lambda peer, request: peer.send(b'{"error": "a"}'.ljust(LONGEST - 1) + b"\n")) as peer:
        plant = RemotePlant.connect(peer.url, task, QUICK)
        plant.reset(0)
        with pytest.raises(PlantError, match="reported 'a'"):
            plant.step(np.array([1.0]))
        plant.close()


def test_an_answer_sent_twice_is_not_mistaken_for_the_next_one(task):
    def twice(peer: Peer, request: dict) -> None:
        peer.answer(request)
        peer.answer(request)

    with Peer(twice) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        assert plant.step(np.array([1.0]))[1] == 2
        with pytest.raises(PlantError, match="answered request 2 instead of 3: answer every request once"):
            plant.step(np.array([1.0]))


def test_a_late_answer_is_not_mistaken_for_a_new_one(task):
    def late(peer: Peer, request: dict) -> None:
        time.sleep(0.6)
        peer.answer(request)

    with Peer(late) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        with pytest.raises(PlantError, match="did not answer within"):
            plant.step(np.array([1.0]))
        measured = plant.reset(0)
        assert measured[1] == peer.received[-1][1]["id"] > 2


def test_an_unrequested_message_between_trials_makes_the_learner_connect_again(task):
    def talkative(peer: Peer, request: dict) -> None:
        peer.answer(request)
        peer.send({"type": "positions", "id": request["id"] + 1, "positions": [9, 9]})

    with Peer(talkative, on="stop") as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        plant.stop()
        time.sleep(0.1)
        assert plant.reset(0)[0] == 0.5
        assert len(peer.received) == 2


def test_invalid_inputs_are_not_sent(task):
    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        for u in ([np.nan], [1.0, 2.0], 1.0):
            with pytest.raises(PlantError, match="were not sent to the plant"):
                plant.step(np.array(u))
        plant.step(np.array([1.0]))
    assert [request["type"] for request in peer.received[0]] == ["hello", "reset", "step", "bye"]


def test_the_samples_of_a_failed_trial_are_kept_and_the_plant_is_stopped(task):
    count = []

    def third(q: np.ndarray) -> np.ndarray:
        count.append(q)
        if len(count) == 3:
            peer.misbehave = lines(b'{"error": "emergency stop"}\n')
        return np.zeros(1)

    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        with pytest.raises(PlantError, match=r"reported 'emergency stop': fix that and start again\.$") as e:
            execute(task, plant, third, 0)
        assert e.value.partial is not None
        assert e.value.partial.q.shape == (3, 2)
        assert not plant.moving
    assert [request["type"] for request in peer.received[0]] == ["hello", "reset", "step", "step", "step", "stop"]
    assert [request["type"] for request in peer.received[1]] == ["hello", "stop", "bye"]


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
    assert [request["type"] for request in peer.received[1]] == ["hello", "stop", "bye"]


def test_a_plant_that_cannot_be_stopped_any_more_is_reported(task):
    def die(peer: Peer, request: dict) -> None:
        peer.ended.set()
        peer.listener.close()
        raise OSError

    with Peer(die) as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        with at_most(3 * QUICK.stop + SLACK), pytest.raises(PlantError) as error:
            execute(task, plant, lambda q: np.zeros(1), 0)
        message = one_sentence(error)
        assert "closed the connection" in message
        assert "cannot be reached (Connection refused)" in message
        assert message.startswith("STOP THE MACHINE BY HAND")


def test_a_plant_that_never_moved_need_not_be_stopped(task):
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
def test_a_lost_connection_is_restored(when, task):
    with Peer() as peer, RemotePlant.connect(peer.url, task, QUICK) as plant:
        plant.reset(0)
        if when == "between trials":
            plant.stop()
        peer.connection.shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)
        if when == "before stop":
            plant.stop()
            assert peer.received[1][1]["type"] == "stop"
        assert plant.reset(1)[0] == 0.5
        assert len(peer.received) == 2
        assert peer.hello == {**HELLO}
