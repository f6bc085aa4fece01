"""A driver that hangs on the computer of the machine: noticed there, machine stopped, learner informed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from peers import Learner, Program, at_most

import vfpilco
from vfpilco.plants.tcp import RemotePlant, Timeouts
from vfpilco.trials.execute import execute

HELLO = {"type": "hello", "protocol": "vfpilco-plant", "version": 1}
PROGRAM = """
import os, sys, threading, time
from vfpilco.plants.serve import serve

class Rig:
    steps = 0

    def reset(self, seed):
        self.steps = 0
        return [0.0, 0.0]

    def step(self, u):
        self.steps += 1
        if self.steps == 3 and sys.argv[1] == "sleeps":
            time.sleep(600)
        while self.steps == 3 and sys.argv[1] == "ignores" and not os.path.exists(sys.argv[2]):
            try:
                time.sleep(0.1)
            except Exception:
                pass
        return [0.0, float(self.steps)]

    def stop(self):
        os.write(1, b"stopped by %s\\n" % threading.current_thread().name.split()[0].encode())

serve(Rig(), positions=["p", "alpha"], inputs=["force"], limits=[10.0], sampling_time=1 / 30, address="127.0.0.1:0",
      patience=20, step_timeout=0.3)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a program that serves a driver which hangs at its third step; ended with SIGTERM."""
    programs = []

    def start(how: str) -> Program:
        program = Program([sys.executable, "-c", PROGRAM, how, str(tmp_path / "release")])
        programs.append(program)
        return program

    yield start
    for program in programs:
        code, _ = program.end()
        assert code == -signal.SIGTERM


def drive(program: Program, task) -> str:
    """The message with which a trial on it ends."""
    with RemotePlant.connect(program.url, task, Timeouts(stop=2)) as plant:
        with pytest.raises(vfpilco.PlantError) as error:
            execute(task, plant, lambda q: np.zeros(1), 0)
        assert error.value.partial is not None
        assert len(error.value.partial.q) == 3
    return str(error.value)


def test_a_driver_that_hangs_is_stopped_by_another_thread_and_the_server_continues(start, task):
    program = start("sleeps")
    with at_most(20):
        said = drive(program, task)
    assert "asked to step, reported 'step did not return within 0.333 s': fix that and start again." in said
    assert program.wait_for("stopped by") != "stopped by MainThread"
    program.wait_for("stopped by MainThread")
    with Learner(program.place) as learner:  # The next learner finds it as before.
        learner.send(HELLO, {"type": "reset", "id": 1, "seed": 0}, {"type": "step", "id": 2, "inputs": [0.0]})
        assert [learner.receive()["type"] for _ in range(3)] == ["hello", "positions", "positions"]


def test_of_a_driver_that_cannot_be_interrupted_every_learner_is_informed(start, task, tmp_path):
    program = start("ignores")
    with at_most(20):
        said = drive(program, task)
    hangs = "step did not return within 0.333 s and cannot be interrupted: the machine was stopped by another thread"
    assert said.startswith("STOP THE MACHINE BY HAND")  # Nobody can say what the driver does when it returns.
    assert hangs in said
    assert program.wait_for("stopped by") != "stopped by MainThread"
    with Learner(program.place) as learner:
        assert learner.receive() == {"error": hangs}
    (tmp_path / "release").touch()
    program.wait_for("stopped by MainThread")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with Learner(program.place) as learner:
            if learner.receive()["type"] == "hello":
                break
    else:
        pytest.fail("it did not recover")


def test_a_signal_while_the_driver_hangs_ends_the_program(start):
    program = start("ignores")
    with Learner(program.place) as learner:
        learner.send(HELLO, {"type": "reset", "id": 1, "seed": 0})
        learner.send(*[{"type": "step", "id": 2 + i, "inputs": [0.0]} for i in range(3)])
        assert [learner.receive().get("type") for _ in range(4)] == ["hello", "positions", "positions", "positions"]
        assert "cannot be interrupted" in learner.receive()["error"]
    program.process.terminate()
    program.wait_for("stopped by MainThread")


def test_the_command_takes_the_timeouts_of_the_task(tmp_path):
    (tmp_path / "rig.py").write_text(
        "import dataclasses, os, time, vfpilco\n"
        "class Rig:\n"
        "    def reset(self, seed):\n        return [0.0, 0.0]\n"
        "    def step(self, u):\n        time.sleep(600)\n"
        "    def stop(self):\n        os.write(1, b'stopped\\n')\n"
        "base = vfpilco.task('cartpole')\n"
        "rules = vfpilco.RealTime(step_timeout=0.2)\n"
        "machine = dataclasses.replace(base.machine, plant=Rig, realtime=rules)\n"
        "task = dataclasses.replace(base, name='rig', machine=machine)\n"
    )
    program = Program([sys.executable, "-m", "vfpilco", "serve", str(tmp_path / "rig.py"), "--patience", "20"])
    try:
        with Learner(program.place) as learner:
            learner.send(HELLO, {"type": "reset", "id": 1, "seed": 0}, {"type": "step", "id": 2, "inputs": [0.0]})
            assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
            assert learner.receive() == {"error": "step did not return within 0.233 s"}
        program.wait_for("stopped")
    finally:
        assert program.end()[0] == 130


def test_a_signal_that_another_thread_receives_ends_the_server():
    """It does not interrupt what the main thread waits for; the kernel chooses the thread."""
    code = (
        "import signal, threading, time, vfpilco\n"
        "def later():\n"
        "    time.sleep(0.2)\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)\n"
        "class Rig:\n"
        "    def reset(self, seed):\n        threading.Thread(target=later).start()\n        return [0.0]\n"
        "    def step(self, u):\n        return [0.0]\n"
        "    def stop(self):\n        print('stopped by', threading.current_thread().name, flush=True)\n"
        "words = {'positions': ['q'], 'inputs': ['u'], 'limits': [1.0], 'sampling_time': 0.01, 'address': '0'}\n"
        "vfpilco.serve(Rig(), **words, patience=60)\n"
    )
    program = Program([sys.executable, "-c", code])
    with Learner(program.place) as learner:
        learner.send(HELLO, {"type": "reset", "id": 1, "seed": 0})
        assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
        program.wait_for("stopped by MainThread")
    program.process.communicate(timeout=10)
    assert program.process.returncode == -signal.SIGTERM


def test_in_another_thread_than_the_main_one_the_plant_is_stopped_as_well():
    """There no signal can interrupt the driver; the server continues when it returns."""
    released, address, ended = threading.Event(), [], threading.Event()

    class Rig:
        stops = 0

        def reset(self, seed: int) -> list[float]:
            return [0.0]

        def step(self, u: np.ndarray) -> list[float]:
            released.wait(30)
            return [0.0]

        def stop(self) -> None:
            self.stops += 1

    def say(line: str) -> None:
        address.append(line)
        if "said bye" in line:
            raise KeyboardInterrupt

    def serve() -> None:
        try:
            words = {"positions": ["q"], "inputs": ["u"], "limits": [1.0], "sampling_time": 0.01, "address": "0"}
            vfpilco.serve(rig, **words, patience=20, step_timeout=0.1, say=say)
        except KeyboardInterrupt:
            ended.set()

    rig, thread = Rig(), threading.Thread(target=serve)
    thread.start()
    while not address:
        time.sleep(0.01)
    place = "127.0.0.1", int(address[0].rpartition(":")[2])
    with Learner(place) as learner:
        learner.send(HELLO, {"type": "reset", "id": 1, "seed": 0}, {"type": "step", "id": 2, "inputs": [0.0]})
        assert [learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
        assert "cannot be interrupted" in learner.receive()["error"]
    assert rig.stops == 1
    released.set()
    for _ in range(200):
        with Learner(place) as learner:
            if learner.receive().get("type") == "hello":
                learner.send(HELLO, {"type": "bye", "id": 3})
                break
        time.sleep(0.05)
    thread.join(20)
    assert ended.is_set()


def test_the_folder_is_all_that_a_small_computer_needs(tmp_path):
    folder = Path(__file__).parents[2] / "src/vfpilco/plants"
    code = "import serve, sys; print(sorted(name for name in sys.modules if name.startswith(('vfpilco', 'jax'))))"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
