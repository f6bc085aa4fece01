"""The examples of plants in C and Python as programs, and learners that misbehave towards them."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from peers import Learner, Program, at_most

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.plants.tcp import RemotePlant, Timeouts
from vfpilco.trials.execute import execute

ROOT = Path(__file__).parents[2]
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
    """The command of each example; the one in Python as on a computer that has nothing but Python."""
    rig = tmp_path_factory.mktemp("rig")
    shutil.copy(ROOT / "examples/plant.py", rig)
    shutil.copytree(ROOT / "src/vfpilco/plants/serve", rig / "serve")
    return {
        "c": [compiled(tmp_path_factory.mktemp("c"), "-O2")],
        "sanitized": [compiled(tmp_path_factory.mktemp("sanitized"), *SANITIZED)],
        "python": [sys.executable, "-S", "-E", str(rig / "plant.py")],
    }


@pytest.fixture
def start(commands):
    """Starts an example with the given options; at the end SIGTERM must end it without an error."""
    with contextlib.ExitStack() as ends:

        def start(name: str, *options: str, port: int = 0) -> Program:
            program = Program([*commands[name], *options], port)
            ends.callback(lambda: check(program.end()))
            return program

        yield start


def check(ended: tuple[int, bytes]) -> None:
    assert ended == (0, b"")


def swinging(task) -> np.ndarray:
    t = np.arange(task.horizon) * task.machine.sampling_time
    return 8 * np.sin(2 * np.pi * 0.9 * t) + 2 * np.cos(2 * np.pi * 2.3 * t)


def run(task, plant, seed: int = 0) -> np.ndarray:
    """Measured positions of a complete trial."""
    forces = iter(swinging(task))
    return execute(task, plant, lambda q: np.array([next(forces)]), seed).q


@pytest.mark.parametrize("name", ["c", "python"])
def test_the_examples_move_like_the_cart_pole_of_the_package(name, start, task):
    program = start(name, "--noiseless", "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        measured = run(task, plant)
    own = run(task, CartPole(task.machine.sampling_time, vfpilco.GaussianNoise((0.0, 0.0))))
    assert np.ptp(own[:, 1]) > 1
    np.testing.assert_allclose(measured, own, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["c", "python"])
def test_the_examples_have_the_noise_of_the_task_and_the_seed_fixes_it(name, start, task):
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
    expected = 15 * task.machine.sampling_time
    assert expected <= took < expected + 2


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_silent_learner_stops_the_plant(name, start):
    program = start(name, "--patience", "0.3")
    with Learner(program.place) as learner:
        learner.send(HELLO, RESET, STEP)
        assert [learner.receive()["type"] for _ in range(3)] == ["hello", "positions", "positions"]
        begin = time.monotonic()
        program.wait_for("plant stopped", 0.3 + 3)
        assert time.monotonic() - begin > 0.2
        assert "no input" in learner.receive()["error"]
        assert learner.receive() is None


@pytest.mark.parametrize("name", ["c", "python"])
def test_bytes_that_are_not_an_input_do_not_postpone_the_deadline(name, start):
    program = start(name, "--patience", "0.3")
    with Learner(program.place) as learner:
        learner.send(HELLO, RESET)
        learner.receive(), learner.receive()
        with at_most(0.3 + 3), contextlib.suppress(OSError):
            while True:  # until the plant closes the connection
                learner.send(b" ")
                with socket.create_connection(program.place, 10):  # Others connect meanwhile.
                    time.sleep(0.02)
        program.wait_for("plant stopped", 1)


@pytest.mark.parametrize("name", ["c", "python"])
def test_between_trials_there_is_no_deadline(name, start):
    program = start(name, "--patience", "0.1")
    with Learner(program.place) as learner:
        learner.send(HELLO)
        learner.receive()
        time.sleep(0.3)
        learner.send(RESET, {"type": "stop", "id": 2})
        assert [learner.receive()["type"] for _ in range(2)] == ["positions", "stopped"]
        time.sleep(0.3)
        learner.send({**RESET, "id": 3})
        assert learner.receive()["id"] == 3


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_learner_that_disconnects_stops_the_plant_and_the_next_one_can_connect(name, start):
    program = start(name, "--patience", "60")
    for _ in range(2):
        with Learner(program.place) as learner:
            learner.send(HELLO, RESET, STEP)
            assert [learner.receive()["type"] for _ in range(3)] == ["hello", "positions", "positions"]
        program.wait_for("plant stopped", 3)


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_second_learner_is_refused_and_does_not_disturb_the_first(name, start, task):
    program = start(name, "--patience", "20")
    with RemotePlant.connect(program.url, task) as plant:
        plant.reset(0)
        with pytest.raises(vfpilco.PlantError, match="reported 'busy with another learner': fix that and start again"):
            RemotePlant.connect(program.url, task)
        plant.step(np.zeros(1))
        plant.stop()


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_learner_that_lost_its_connection_can_connect_again_to_stop(name, start, task):
    program = start(name, "--patience", "20")
    with RemotePlant.connect(program.url, task, Timeouts(stop=2)) as plant:
        for _ in range(30):
            plant.reset(0)
            plant._drop()
            plant.stop()
            assert not plant.moving


def test_a_killed_and_restarted_plant_is_found_again_at_the_next_reset(commands, start, task):
    program = Program([*commands["c"], "--patience", "20"])
    with RemotePlant.connect(program.url, task, Timeouts(stop=0.5)) as plant:
        plant.reset(0)
        program.process.kill()
        program.process.communicate()
        with pytest.raises(vfpilco.PlantError, match=r"asked to step, (closed the connection|was lost)"):
            plant.step(np.zeros(1))
        with at_most(3), pytest.raises(vfpilco.PlantError, match=r"cannot be reached .* does not move\.$"):
            plant.stop()
        start("c", "--patience", "20", port=program.place[1])
        assert run(task, plant).shape == (task.horizon + 1, 2)


GARBAGE = {
    "not JSON": b"step 1\n",
    "nothing": b"\n",
    "a null byte": b'{"type": "stop", \x00"id": 4}\n',
    "half an object": b'{"type": "step", "id": 4, "inputs": [1.0\n',
    "a comma too many": b'{"type": "stop", "id": 4,}\n',
    "two objects": b'{"type": "stop", "id": 4} {}\n',
    "an unterminated string": b'{"type": "st\n',
    "an unterminated escape": b'{"type": "st\\\n',
    "an invalid escape": b'{"type": "\\x", "id": 4}\n',
    "half a character": b'{"type": "\\u12\n',
    "invalid UTF-8": b'{"ty\xffpe": 1}\n',
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
    "an infinite number": b'{"type": "step", "id": 4, "inputs": [1e999]}\n',
    "hexadecimal": b'{"type": "step", "id": 4, "inputs": [0x1]}\n',
    "beyond the limit": b'{"type": "step", "id": 4, "inputs": [10.001]}\n',
    "no id": b'{"type": "step", "inputs": [1]}\n',
    "an id that is not an integer": b'{"type": "step", "id": 4.5, "inputs": [1]}\n',
    "a negative seed": b'{"type": "reset", "id": 4, "seed": -1}\n',
    "no seed": b'{"type": "reset", "id": 4}\n',
    "a huge seed": b'{"type": "reset", "id": 4, "seed": ' + b"9" * 400 + b"}\n",
    "an unknown type": b'{"type": "fly", "id": 4}\n',
    "no type": b'{"id": 4}\n',
}


@pytest.mark.parametrize("name", ["sanitized", "python"])
def test_garbage_stops_the_plant_and_closes_the_connection_but_does_not_end_the_program(name, start):
    program = start(name, "--patience", "20")
    for case, garbage in GARBAGE.items():
        with at_most(5), Learner(program.place) as learner:
            learner.send(HELLO, RESET)
            assert learner.receive()["type"] == "hello", case
            assert learner.receive()["type"] == "positions", case
            with contextlib.suppress(ConnectionError):
                learner.send(garbage)
            with contextlib.suppress(ConnectionError):  # After a flood the reason may be lost.
                answer = learner.receive()
                assert answer is not None, case
                assert set(answer) == {"error"}, case
                assert learner.receive() is None, case
        program.wait_for("plant stopped", 3)


@pytest.mark.parametrize("name", ["sanitized", "python"])
def test_random_changes_of_valid_lines_do_no_harm(name, start):
    program = start(name, "--patience", "20")
    rng = np.random.default_rng(0)
    good = np.frombuffer(b"".join(json.dumps(m).encode() + b"\n" for m in (HELLO, RESET, STEP, STEP)), np.uint8)
    for _ in range(150):
        bad = good.copy()
        places = rng.integers(len(bad), size=rng.integers(1, 6))
        bad[places] = rng.choice(np.frombuffer(b'{}[]",:\\\n\x00\xff09-.eE u', np.uint8), len(places))
        with Learner(program.place) as learner:
            learner.send(bad.tobytes()[: rng.integers(1, len(bad) + 1)])
            learner.connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while learner.receive():
                    pass
    with Learner(program.place) as learner:
        learner.send(HELLO, RESET)
        assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]


@pytest.mark.parametrize("name", ["sanitized", "python"])
@pytest.mark.parametrize(
    "first", [{**HELLO, "version": 2}, {**HELLO, "protocol": "ssh"}, RESET, b"GET / HTTP/1.1\r\n\r\n"]
)
def test_a_learner_that_does_not_say_hello_is_refused(name, first, start):
    with Learner(start(name).place) as learner:
        learner.receive()
        learner.send(first)
        answer = learner.receive()
        assert "hello of vfpilco-plant version 1" in answer["error"] or "JSON" in answer["error"]
        assert learner.receive() is None


@pytest.mark.parametrize("name", ["c", "python"])
def test_a_step_after_a_stop_is_refused(name, start):
    with Learner(start(name, "--patience", "20").place) as learner:
        learner.send(HELLO, RESET, {"type": "stop", "id": 2}, {**STEP, "id": 3})
        assert [learner.receive()["type"] for _ in range(3)] == ["hello", "positions", "stopped"]
        assert "needs a reset" in learner.receive()["error"]


@pytest.mark.parametrize("name", ["sanitized", "python"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_terminated_stops_its_plant(name, number, start):
    program = start(name, "--patience", "20")
    with Learner(program.place) as learner:
        learner.send(HELLO, RESET)
        assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
        program.process.send_signal(number)
        program.wait_for("plant stopped", 5)
    program.process.wait(20)


@pytest.mark.parametrize(
    "options", [["--address", "nowhere"], ["--address", "1.2.3.4.5:1"], ["--address", ":70000"], ["--patience", "-1"]]
)
def test_the_example_in_c_refuses_wrong_options(options, commands):
    done = subprocess.run([*commands["sanitized"], *options], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert done.stderr.startswith("plant: ")
    assert done.stderr.count("\n") == 1


def test_the_conversation_in_the_documentation_is_that_of_the_example(start):
    block = re.search(r"```\n(←.*?)```", (ROOT / "docs/reference/protocol.md").read_text(), flags=re.S)
    assert block is not None
    lines = [(line[0], json.loads(line[2:])) for line in block[1].splitlines()]
    assert len(lines) == 12
    with Learner(start("c", "--noiseless", "--patience", "20").place) as learner:
        for who, message in lines:
            if who == "→":
                learner.send(message)
            else:
                answer = learner.receive()
                assert answer.pop("positions", None) == pytest.approx(message.pop("positions", None), abs=1e-12)
                assert answer == message


def test_the_minimal_plant_in_the_documentation_works(task, tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs/reference/protocol.md").read_text(), flags=re.S)
    assert code is not None
    (tmp_path / "least.py").write_text(code[1].replace("int(sys.argv[1])", "0"))
    program = Program([sys.executable, str(tmp_path / "least.py")])
    try:
        with RemotePlant.connect(program.url, task) as plant:
            assert run(task, plant).shape == (task.horizon + 1, 2)
            plant.reset(0)
            program.wait_for("TimeoutError", 3)
            with pytest.raises(vfpilco.PlantError, match=r"closed the connection|was lost"):
                plant.step(np.zeros(1))
            assert run(task, plant).shape == (task.horizon + 1, 2)
    finally:
        program.end()
