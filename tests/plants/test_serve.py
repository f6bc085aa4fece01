"""`vfpilco.serve`, from Python and as a command."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading

import numpy as np
import pytest
from peers import Learner, Program

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import NOT_STOPPED
from vfpilco.plants.serve import place
from vfpilco.plants.tcp import RemotePlant


class Recorder:
    """A plant that records its calls."""

    def __init__(self) -> None:
        self.calls: list = []
        self.broken = False

    def reset(self, seed: int) -> np.ndarray:
        self.calls.append(("reset", seed))
        return np.zeros(2)

    def step(self, u: np.ndarray) -> np.ndarray:
        assert isinstance(u, np.ndarray)
        self.calls.append(("step", *u))
        if self.broken:
            raise RuntimeError("the cable\nbroke")
        return np.array([np.nan, 0.0]) if u[0] == 9 else u * [1, 2]

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.fixture
def served(task):
    """A recorder served by a thread, and its address."""
    plant, output = Recorder(), queue.Queue()

    def say(line: str) -> None:
        output.put(line)
        if "said bye" in line:
            raise KeyboardInterrupt

    def serve() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            vfpilco.serve(
                plant,
                positions=["p", "alpha"],
                inputs=["force"],
                limits=[10.0],
                sampling_time=task.machine.sampling_time,
                address="0",
                patience=20,
                say=say,
            )

    thread = threading.Thread(target=serve)
    thread.start()
    url = output.get(timeout=10).removeprefix("plant on ")
    yield plant, url
    RemotePlant.connect(url, task).close()
    thread.join(10)
    assert not thread.is_alive()


def test_any_object_with_three_methods_can_be_served(served, task):
    recorder, url = served
    assert url.startswith("tcp://127.0.0.1:")
    plant = RemotePlant.connect(url, task)
    plant.reset(5)
    np.testing.assert_array_equal(plant.step(np.array([0.1])), [0.1, 0.2])
    plant.stop()
    assert recorder.calls == [("reset", 5), ("step", 0.1), "stop"]
    plant._drop()


@pytest.mark.parametrize("failure", ["raises", "measures nothing"])
def test_a_plant_that_fails_is_stopped_and_the_reason_reported(failure, served, task):
    recorder, url = served
    plant = RemotePlant.connect(url, task)
    plant.reset(5)
    recorder.broken = failure == "raises"
    reasons = {"raises": r"RuntimeError: the cable\\nbroke", "measures nothing": r"the plant measured \[nan, 0.0\]"}
    with pytest.raises(vfpilco.PlantError, match=f"reported '{reasons[failure]}'"):
        plant.step(np.array([9.0]))
    assert recorder.calls == [("reset", 5), ("step", 9.0), "stop"]
    plant.stop()
    plant._drop()


def test_serve_as_a_command(task):
    program = Program([sys.executable, "-m", "vfpilco", "serve", "cartpole", "--realtime", "--patience", "20"])
    try:
        with RemotePlant.connect(program.url, task) as plant:
            measured = [plant.reset(4), plant.step(np.ones(1)), plant.step(np.ones(1))]
            plant.stop()
        own = task.machine.plant()
        np.testing.assert_array_equal(measured, [own.reset(4), own.step(np.ones(1)), own.step(np.ones(1))])
    finally:
        assert program.end() == (130, b"vfpilco: stopped.\n")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("5555", ("127.0.0.1", 5555)),
        (":5555", ("127.0.0.1", 5555)),
        ("tcp://0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:5555", ("::1", 5555)),
    ],
)
def test_without_a_host_only_this_computer_can_connect(address, expected):
    assert place(address) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["cartpol"], "did you mean 'cartpole'"),
        (["cartpole", "--address", "here"], "An address has the form host:port, got 'here'"),
        (["cartpole", "--address", "192.0.2.1:5555"], "Cannot listen on 192.0.2.1:5555"),
        (["cartpole", "--patience", "0"], "Patience must be positive, got 0"),
    ],
)
def test_the_command_refuses_invalid_options(options, expected, capsys):
    assert main(["serve", *options]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert expected in output.err
    assert output.err.count("\n") == 1


UNSTOPPABLE = """
import sys
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.plants.serve import motion

motion.PAUSE = 0.001

def stop(self):
    raise RuntimeError("port closed")

CartPole.stop = stop
from vfpilco.__main__ import main
sys.exit(main())
"""


def test_the_command_exits_with_3_if_the_machine_cannot_be_stopped():
    program = Program([sys.executable, "-c", UNSTOPPABLE, "serve", "cartpole"])
    with Learner(program.place) as learner:
        learner.send({"type": "hello", "protocol": "vfpilco-plant", "version": 1})
        learner.send({"type": "reset", "id": 1, "seed": 0})
        assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
    code, errors = program.end()
    assert code == NOT_STOPPED == 3
    assert errors.decode().splitlines()[-1] == "STOP THE MACHINE BY HAND"
