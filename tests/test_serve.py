"""The plant's side on TCP: the examples in C and Python as programs, `vfpilco.serve`, and learners that misbehave."""

import contextlib
import json
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import vfpilco
from peers import Program, at_most
from vfpilco.cli import main
from vfpilco.execute import execute
from vfpilco.plants.cartpole import CartPole
from vfpilco.plants.tcp import RemotePlant, Timeouts
from vfpilco.serve import place

ROOT = Path(__file__).parent.parent
HELLO = {"type": "hello", "protocol": "vfpilco-plant", "version": 1}
RESET = {"type": "reset", "id": 1, "seed": 3}
STEP = {"type": "step", "id": 2, "inputs": [1.0]}
SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiled(folder: Path, *options: str) -> str:
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", *options]
    command = ["gcc", *strict, str(ROOT / "examples/plant.c"), "-lm", "-o", str(folder / "plant")]
    subprocess.run(command, check=True, timeout=120)
    return str(folder / "plant")


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> dict[str, list[str]]:
    """How each example is started; the one in Python as on a rig's computer that has nothing else."""
    rig = tmp_path_factory.mktemp("rig")
    shutil.copy(ROOT / "examples/plant.py", rig)
    shutil.copy(ROOT / "src/vfpilco/serve.py", rig)
    return {
        "c": [compiled(tmp_path_factory.mktemp("c"), "-O2")],
        "sanitized": [compiled(tmp_path_factory.mktemp("sanitized"), *SANITIZED)],
        "python": [sys.executable, "-S", "-E", str(rig / "plant.py")],
    }


@pytest.fixture
def start(commands):
    """Starts an example with the given options; at the end it must go when told, without complaint."""
    with contextlib.ExitStack() as ends:

        def start(name: str, *options: str, port: int = 0) -> Program:
            program = Program([*commands[name], *options], port)
            ends.callback(lambda: check(program.end()))
            return program

        yield start


def check(ended: tuple[int, bytes]) -> None:
    assert ended == (0, b"")


class Learner:
    """A learner that says what it is told to."""

    def __init__(self, place: tuple[str, int]) -> None:
        self.connection = socket.create_connection(place, 10)
        self.lines = self.connection.makefile("rb")

    def __enter__(self) -> "Learner":
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.connection.close()

    def say(self, *messages: dict | bytes) -> None:
        for message in messages:
            self.connection.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def hear(self) -> dict | None:
        """The next line, none at the end."""
        line = self.lines.readline()
        return json.loads(line) if line else None


def swinging(task) -> np.ndarray:
    t = np.arange(task.horizon) * task.sampling_time
    return 8 * np.sin(2 * np.pi * 0.9 * t) + 2 * np.cos(2 * np.pi * 2.3 * t)


def run(task, plant, seed: int = 0) -> np.ndarray:
    """Measured positions of a whole trial."""
    forces = iter(swinging(task))
    return execute(task, plant, lambda q: np.array([next(forces)]), seed).q


@pytest.mark.parametrize("name", ["c", "python"])
def test_the_examples_move_as_the_cart_pole_of_the_package(name, start, task):
    program = start(name, "--noiseless", "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        measured = run(task, plant)
    own = run(task, CartPole(task.sampling_time, vfpilco.GaussianNoise((0.0, 0.0))))
    assert np.ptp(own[:, 1]) > 1
    np.testing.assert_allclose(measured, own, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["c", "python"])
def test_the_examples_measure_with_the_noise_of_the_task_which_the_seed_fixes(name, start, task):
    program = start(name, "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        np.testing.assert_array_equal(run(task, plant, 7), run(task, plant, 7))
        started = np.array([plant.reset(seed) for seed in range(1500)])
        plant.stop()
    assert len(np.unique(started)) == started.size
    np.testing.assert_allclose(started.std(0), [1e-3, 2e-3], rtol=0.1)
    np.testing.assert_allclose(started.mean(0), 0, atol=3e-4)
    assert abs(np.corrcoef(started.T)[0, 1]) < 0.15
    assert abs(np.corrcoef(started[1:, 0], started[:-1, 0])[0, 1]) < 0.15


@pytest.mark.parametrize("name", ["c", "python"])
def test_in_real_time_a_step_takes_a_sampling_time(name, start, task):
    program = start(name, "--realtime", "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        begin = time.monotonic()
        plant.reset(0)
        for _ in range(15):
            plant.step(np.zeros(1))
        took = time.monotonic() - begin
        plant.stop()
    assert 15 * task.sampling_time <= took < 15 * task.sampling_time + 2


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_silent_learner_ends_the_movement(name, start):
    program = start(name, "--patience", "0.3")
    with Learner(program.place) as learner:
        learner.say(HELLO, RESET, STEP)
        assert [learner.hear()["type"] for _ in range(3)] == ["hello", "positions", "positions"]
        begin = time.monotonic()
        program.says("plant stopped", 0.3 + 3)
        assert time.monotonic() - begin > 0.2
        assert "no input" in learner.hear()["error"]
        assert learner.hear() is None


@pytest.mark.parametrize("name", ["c", "python"])
def test_bytes_that_are_no_input_do_not_lengthen_patience(name, start):
    program = start(name, "--patience", "0.3")
    with Learner(program.place) as learner:
        learner.say(HELLO, RESET)
        learner.hear(), learner.hear()
        with at_most(0.3 + 3), contextlib.suppress(OSError):
            while True:  # until the plant ends the connection
                learner.say(b" ")
                with socket.create_connection(program.place, 10):  # Others knock all the while.
                    time.sleep(0.02)
        program.says("plant stopped", 1)


@pytest.mark.parametrize("name", ["c", "python"])
def test_between_trials_a_learner_may_think_as_long_as_it_likes(name, start):
    program = start(name, "--patience", "0.1")
    with Learner(program.place) as learner:
        learner.say(HELLO)
        learner.hear()
        time.sleep(0.3)
        learner.say(RESET, {"type": "stop", "id": 2})
        assert [learner.hear()["type"] for _ in range(2)] == ["positions", "stopped"]
        time.sleep(0.3)
        learner.say({**RESET, "id": 3})
        assert learner.hear()["id"] == 3


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_learner_that_vanishes_ends_the_movement_and_makes_room(name, start):
    program = start(name, "--patience", "60")
    for _ in range(2):
        with Learner(program.place) as learner:
            learner.say(HELLO, RESET, STEP)
            assert [learner.hear()["type"] for _ in range(3)] == ["hello", "positions", "positions"]
        program.says("plant stopped", 3)


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_second_learner_is_sent_away_and_does_not_disturb_the_first(name, start, task):
    program = start(name, "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        plant.reset(0)
        with pytest.raises(vfpilco.PlantError, match="said 'busy with another learner': mend that and start again"):
            RemotePlant.connect(program.url, task)
        plant.step(np.zeros(1))
        plant.stop()


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_learner_that_lost_its_connection_is_let_in_again_to_stop(name, start, task):
    program = start(name, "--patience", "20")
    with RemotePlant.connect(program.url, task, Timeouts(stop=2)) as plant:
        for _ in range(30):
            plant.reset(0)
            plant._drop()
            plant.stop()
            assert not plant.moving


def test_a_plant_that_was_killed_is_found_again_at_the_next_reset(commands, start, task):
    program = Program([*commands["c"], "--patience", "20"])
    with RemotePlant.connect(program.url, task, Timeouts(stop=0.5)) as plant:
        plant.reset(0)
        program.process.kill()
        program.process.communicate()
        with pytest.raises(vfpilco.PlantError, match=r"asked to step, (closed the connection|was lost)"):
            plant.step(np.zeros(1))
        with at_most(3), pytest.raises(vfpilco.PlantError, match=r"cannot be reached .* stands still\.$"):
            plant.stop()
        start("c", "--patience", "20", port=program.place[1])
        assert run(task, plant).shape == (task.horizon + 1, 2)


GARBAGE = {
    "no JSON": b"step 1\n",
    "nothing": b"\n",
    "a zero": b'{"type": "stop", \x00"id": 4}\n',
    "half an object": b'{"type": "step", "id": 4, "inputs": [1.0\n',
    "a comma too many": b'{"type": "stop", "id": 4,}\n',
    "two objects": b'{"type": "stop", "id": 4} {}\n',
    "a string without an end": b'{"type": "st\n',
    "an escape without an end": b'{"type": "st\\\n',
    "an escape that is none": b'{"type": "\\x", "id": 4}\n',
    "half a character": b'{"type": "\\u12\n',
    "no UTF-8": b'{"ty\xffpe": 1}\n',
    "deep nesting": b"[" * 4000 + b"\n",
    "deep objects": b'{"a":' * 800 + b"\n",
    "a long line": b"a" * 5000 + b"\n",
    "a line without an end": b"{" * 100_000,
    "a long name": b'{"' + b"n" * 3000 + b'": 1}\n',
    "a long type": b'{"id": 4, "type": "' + b"t" * 3000 + b'"}\n',
    "many inputs": b'{"type": "step", "id": 4, "inputs": [' + b"1," * 1500 + b"1]}\n",
    "no inputs": b'{"type": "step", "id": 4}\n',
    "an empty list": b'{"type": "step", "id": 4, "inputs": []}\n',
    "inputs as text": b'{"type": "step", "id": 4, "inputs": ["1"]}\n',
    "true as input": b'{"type": "step", "id": 4, "inputs": [true]}\n',
    "NaN": b'{"type": "step", "id": 4, "inputs": [NaN]}\n',
    "Infinity": b'{"type": "step", "id": 4, "inputs": [-Infinity]}\n',
    "a number without end": b'{"type": "step", "id": 4, "inputs": [1e999]}\n',
    "hexadecimal": b'{"type": "step", "id": 4, "inputs": [0x1]}\n',
    "beyond the limit": b'{"type": "step", "id": 4, "inputs": [10.001]}\n',
    "no number": b'{"type": "step", "inputs": [1]}\n',
    "half a number": b'{"type": "step", "id": 4.5, "inputs": [1]}\n',
    "a negative seed": b'{"type": "reset", "id": 4, "seed": -1}\n',
    "no seed": b'{"type": "reset", "id": 4}\n',
    "a huge seed": b'{"type": "reset", "id": 4, "seed": ' + b"9" * 400 + b"}\n",
    "an unknown type": b'{"type": "fly", "id": 4}\n',
    "no type": b'{"id": 4}\n',
}


@pytest.mark.parametrize("name", ["sanitized", "python"])
def test_garbage_stops_the_plant_and_ends_the_connection_and_nothing_else(name, start):
    program = start(name, "--patience", "20")
    for case, garbage in GARBAGE.items():
        with at_most(5), Learner(program.place) as learner:
            learner.say(HELLO, RESET)
            assert learner.hear()["type"] == "hello", case
            assert learner.hear()["type"] == "positions", case
            with contextlib.suppress(ConnectionError):
                learner.say(garbage)
            with contextlib.suppress(ConnectionError):  # Of a flood the end may be lost, and the reason with it.
                answer = learner.hear()
                assert answer is not None, case
                assert set(answer) == {"error"}, case
                assert learner.hear() is None, case
        program.says("plant stopped", 3)


@pytest.mark.parametrize("name", ["sanitized", "python"])
def test_random_changes_of_good_lines_do_no_harm(name, start):
    program = start(name, "--patience", "20")
    rng = np.random.default_rng(0)
    good = np.frombuffer(b"".join(json.dumps(m).encode() + b"\n" for m in (HELLO, RESET, STEP, STEP)), np.uint8)
    for _ in range(150):
        bad = good.copy()
        places = rng.integers(len(bad), size=rng.integers(1, 6))
        bad[places] = rng.choice(np.frombuffer(b'{}[]",:\\\n\x00\xff09-.eE u', np.uint8), len(places))
        with Learner(program.place) as learner:
            learner.say(bad.tobytes()[: rng.integers(1, len(bad) + 1)])
            learner.connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while learner.hear():
                    pass
    with Learner(program.place) as learner:
        learner.say(HELLO, RESET)
        assert [learner.hear()["type"] for _ in range(2)] == ["hello", "positions"]


@pytest.mark.parametrize("name", ["sanitized", "python"])
@pytest.mark.parametrize(
    "first", [{**HELLO, "version": 2}, {**HELLO, "protocol": "ssh"}, RESET, b"GET / HTTP/1.1\r\n\r\n"]
)
def test_whoever_does_not_say_hello_is_sent_away(name, first, start):
    with Learner(start(name).place) as learner:
        learner.hear()
        learner.say(first)
        answer = learner.hear()
        assert "hello of vfpilco-plant version 1" in answer["error"] or "JSON" in answer["error"]
        assert learner.hear() is None


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_step_after_a_stop_is_refused(name, start):
    with Learner(start(name, "--patience", "20").place) as learner:
        learner.say(HELLO, RESET, {"type": "stop", "id": 2}, {**STEP, "id": 3})
        assert [learner.hear()["type"] for _ in range(3)] == ["hello", "positions", "stopped"]
        assert "needs a reset" in learner.hear()["error"]


@pytest.mark.parametrize("name", ["sanitized", "python"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_ended_stops_its_plant(name, number, start):
    program = start(name, "--patience", "20")
    with Learner(program.place) as learner:
        learner.say(HELLO, RESET)
        assert [learner.hear()["type"] for _ in range(2)] == ["hello", "positions"]
        program.process.send_signal(number)
        program.says("plant stopped", 5)
    program.process.wait(20)


@pytest.mark.parametrize(
    "options", [["--address", "nowhere"], ["--address", "1.2.3.4.5:1"], ["--address", ":70000"], ["--patience", "-1"]]
)
def test_the_example_in_c_refuses_wrong_options(options, commands):
    done = subprocess.run([*commands["sanitized"], *options], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert done.stderr.startswith("plant: ")
    assert done.stderr.count("\n") == 1


class Recorder:
    """A plant that records what is done with it."""

    def __init__(self) -> None:
        self.done: list = []
        self.broken = False

    def reset(self, seed: int) -> np.ndarray:
        self.done.append(("reset", seed))
        return np.zeros(2)

    def step(self, u: np.ndarray) -> np.ndarray:
        assert isinstance(u, np.ndarray)
        self.done.append(("step", *u))
        if self.broken:
            raise RuntimeError("the cable\nbroke")
        return np.array([np.nan, 0.0]) if u[0] == 9 else u * [1, 2]

    def stop(self) -> None:
        self.done.append("stop")


@pytest.fixture
def served(task):
    """A recorder served by a thread, and its address."""
    plant, said = Recorder(), queue.Queue()

    def say(line: str) -> None:
        said.put(line)
        if "took leave" in line:
            raise KeyboardInterrupt

    def serve() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            vfpilco.serve(
                plant,
                positions=["p", "alpha"],
                inputs=["force"],
                limits=[10.0],
                sampling_time=task.sampling_time,
                address="0",
                patience=20,
                say=say,
            )

    thread = threading.Thread(target=serve)
    thread.start()
    url = said.get(timeout=10).removeprefix("plant on ")
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
    assert recorder.done == [("reset", 5), ("step", 0.1), "stop"]
    plant._drop()


@pytest.mark.parametrize("failure", ["raises", "measures nothing"])
def test_a_plant_that_fails_is_stopped_and_its_reason_told(failure, served, task):
    recorder, url = served
    plant = RemotePlant.connect(url, task)
    plant.reset(5)
    recorder.broken = failure == "raises"
    expected = (
        r"said 'RuntimeError: the cable\\nbroke'" if recorder.broken else r"said 'the plant measured \[nan, 0.0\]'"
    )
    with pytest.raises(vfpilco.PlantError, match=expected):
        plant.step(np.array([9.0]))
    assert recorder.done == [("reset", 5), ("step", 9.0), "stop"]
    plant.stop()
    plant._drop()


def test_serve_as_a_command(task):
    program = Program([sys.executable, "-m", "vfpilco", "serve", "cartpole", "--realtime", "--patience", "20"])
    try:
        with RemotePlant.connect(program.url, task) as plant:
            measured = [plant.reset(4), plant.step(np.ones(1)), plant.step(np.ones(1))]
            plant.stop()
        own = task.plant()
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
def test_only_a_host_that_is_named_is_listened_on_beside_this_computer(address, expected):
    assert place(address) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["cartpol"], "did you mean 'cartpole'"),
        (["cartpole", "--address", "here"], "An address has the form host:port, got 'here'"),
        (["cartpole", "--address", "192.0.2.1:5555"], "Nobody can listen on 192.0.2.1:5555"),
        (["cartpole", "--patience", "0"], "Patience must be positive, got 0"),
    ],
)
def test_serve_refuses_what_cannot_be(options, expected, capsys):
    assert main(["serve", *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert expected in said.err
    assert said.err.count("\n") == 1


def test_the_conversation_in_the_documents_is_what_the_example_says(start):
    block = re.search(r"```\n(←.*?)```", (ROOT / "docs/protocol.md").read_text(), flags=re.S)
    assert block is not None
    lines = [(line[0], json.loads(line[2:])) for line in block[1].splitlines()]
    assert len(lines) == 12
    with Learner(start("c", "--noiseless", "--patience", "20").place) as learner:
        for who, message in lines:
            if who == "→":
                learner.say(message)
            else:
                answer = learner.hear()
                assert answer.pop("positions", None) == pytest.approx(message.pop("positions", None), abs=1e-12)
                assert answer == message


def test_the_least_plant_in_the_documents_works(task, tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs/protocol.md").read_text(), flags=re.S)
    assert code is not None
    (tmp_path / "least.py").write_text(code[1].replace("int(sys.argv[1])", "0"))
    program = Program([sys.executable, str(tmp_path / "least.py")])
    try:
        with RemotePlant.connect(program.url, task) as plant:
            assert run(task, plant).shape == (task.horizon + 1, 2)
            plant.reset(0)
            program.says("TimeoutError", 3)
            with pytest.raises(vfpilco.PlantError, match=r"closed the connection|was lost"):
                plant.step(np.zeros(1))
            assert run(task, plant).shape == (task.horizon + 1, 2)
    finally:
        program.end()
