"""The machine is stopped, whatever ends its motion, and signals wait until that is done."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from peers import Learner

from vfpilco.plants.serve.motion import ATTEMPTS, BY_HAND, Motion, Unstoppable, certainly, described

HELLO = {"type": "hello", "protocol": "vfpilco-plant", "version": 1}
RESET = {"type": "reset", "id": 1, "seed": 0}


class Mute(Exception):
    """An exception without a message."""

    def __str__(self) -> str:
        raise ValueError("no message")


FAILURES = [
    RuntimeError("cable"),
    Mute(),
    SystemExit(0),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    MemoryError(),
    RecursionError(),
]


def test_whatever_ends_the_work_the_machine_is_stopped():
    for failure in FAILURES:
        stops = []
        motion = Motion(lambda stops=stops: stops.append(1))

        def work(motion=motion, failure=failure):
            motion.begin()
            raise failure

        with pytest.raises(type(failure)):
            motion.drive(work)
        assert stops == [1]
        assert not motion.moving


def test_a_machine_that_was_never_moved_is_not_stopped():
    motion = Motion(lambda: pytest.fail("stopped"))
    assert motion.drive(lambda: 7) == 7


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_stop_that_fails_is_repeated_and_given_up_only_in_the_end(failure, monkeypatch):
    monkeypatch.setattr("vfpilco.plants.serve.motion.PAUSE", 0.001)
    attempts = []

    def stop(good: int) -> None:
        attempts.append(1)
        if len(attempts) < good:
            raise failure

    motion = Motion(lambda: stop(ATTEMPTS))
    motion.drive(motion.begin)
    assert len(attempts) == ATTEMPTS
    assert not motion.moving
    attempts.clear()
    hopeless = Motion(lambda: stop(1000))
    with pytest.raises(Unstoppable, match=f"{BY_HAND}: it could not be stopped .{type(failure).__name__}"):
        hopeless.drive(hopeless.begin)
    assert len(attempts) == ATTEMPTS
    assert hopeless.moving


def test_a_single_exception_from_outside_does_not_skip_what_comes_afterwards():
    """The first instruction of a `finally` is not inside of it."""
    done, lines = [], []
    code = certainly.__code__

    def trace(frame, event, argument):
        if frame.f_code is code and event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == target:
                raise KeyboardInterrupt
        return trace

    for target in range(1, 20):
        done.clear(), lines.clear()
        sys.settrace(trace)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                certainly(lambda: done.append("work"), lambda: done.append("afterwards"))
        finally:
            sys.settrace(None)
        assert done[-1:] in ([], ["afterwards"])
        if len(lines) < target:
            break
    assert target > 4


# -- signals ------------------------------------------------------------------------------------------------------


@pytest.fixture
def noted():
    """The program's own handler of SIGTERM, which only takes note."""
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


def test_signals_during_the_stop_wait_until_it_is_complete_and_are_then_honoured():
    stops, before = [], signal.getsignal(signal.SIGINT)

    def stop() -> None:
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)
        stops.append(1)

    motion = Motion(stop)
    with pytest.raises(KeyboardInterrupt):
        motion.drive(motion.begin)
    assert stops == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_on_the_way_to_the_stop_does_not_skip_it():
    stops = []
    motion = Motion(lambda: stops.append(1))

    def work() -> None:
        motion.begin()
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            for _ in range(5):
                signal.raise_signal(signal.SIGINT)
            stops.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        motion.drive(work)
    assert stops == ["cleaned up", 1]


def test_a_handler_of_the_program_that_only_takes_note_does_not_interrupt(noted):
    motion = Motion(lambda: signal.raise_signal(signal.SIGTERM))

    def work() -> int:
        motion.begin()
        signal.raise_signal(signal.SIGTERM)
        assert noted == [signal.SIGTERM]
        return 7

    assert motion.drive(work) == 7
    assert noted == [signal.SIGTERM] * 2  # The second one arrived during the stop.


def test_an_interrupt_that_the_work_swallows_is_noticed_at_the_next_check():
    motion = Motion(lambda: None)

    def work() -> None:
        motion.begin()
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        motion.check()

    with pytest.raises(KeyboardInterrupt):
        motion.drive(work)


def test_a_stop_that_does_not_return_can_be_interrupted_in_the_end(monkeypatch):
    monkeypatch.setattr("vfpilco.plants.serve.motion.LONGEST_STOP", 0.2)
    monkeypatch.setattr("vfpilco.plants.serve.motion.GIVE_UP", 0.1)
    motion, main = Motion(lambda: time.sleep(60)), threading.main_thread().ident
    assert main is not None

    def impatient() -> None:
        time.sleep(0.4)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=impatient)
    thread.start()
    with pytest.raises(Unstoppable, match=r"could not be stopped \(KeyboardInterrupt"):
        motion.drive(motion.begin)
    thread.join()


def test_in_another_thread_the_machine_is_stopped_as_well():
    stops, seen = [], []
    motion = Motion(lambda: stops.append(1))

    def work() -> None:
        motion.begin()
        raise RuntimeError("cable")

    def run() -> None:
        try:
            motion.drive(work)
        except RuntimeError as error:
            seen.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert (stops, len(seen)) == ([1], 1)


def test_an_exception_without_a_message_is_described():
    assert described(Mute()) == "Mute"


# -- programs of users --------------------------------------------------------------------------------------------

PROGRAM = """
import os, sys, time

class Rig:
    def reset(self, seed):
        print("reset", flush=True)
        return [0.0, 0.0]

    def step(self, u):
        return [0.0, 0.0]

    def stop(self):
        print("stopping", flush=True)
        time.sleep(float(sys.argv[1]))
        if sys.argv[2] == "broken":
            raise RuntimeError("port closed")
        os.write(1, b"stopped\\n")

serve(Rig(), positions=["p", "alpha"], inputs=["force"], limits=[10.0], sampling_time=0.1, address="0", patience=60)
"""


class Served:
    """A program of a user that serves a machine; its output is read as it comes."""

    def __init__(self, code: str, *arguments: str) -> None:
        command = [sys.executable, "-c", code + PROGRAM, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        host, _, port = self.process.stdout.readline().strip().rpartition(":")
        self.learner = Learner((host.rpartition("/")[2], int(port)))
        self.learner.send(HELLO, RESET)
        assert [self.learner.receive()["type"] for _ in range(2)] == ["hello", "positions"]
        self.wait_for("reset")

    def wait_for(self, line: str) -> None:
        assert self.process.stdout is not None
        while self.process.stdout.readline().strip() != line:
            assert self.process.poll() is None

    def end(self) -> tuple[int, list[str], list[str]]:
        """Its exit code, and the lines on standard output and standard error that were not read yet."""
        with self.learner:
            output, errors = self.process.communicate(timeout=60)
        return self.process.returncode, output.splitlines(), errors.splitlines()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_stops_the_machine_of_a_users_program_and_then_ends_it_as_always(number):
    served = Served("from vfpilco.plants.serve import serve", "0.5", "fine")
    served.process.send_signal(number)
    served.wait_for("stopping")
    served.process.send_signal(number)  # It does not skip the stop.
    code, output, _ = served.end()
    assert "stopped" in output
    assert code == -number


def test_a_machine_that_cannot_be_stopped_is_reported_last():
    served = Served("from vfpilco.plants.serve import serve", "0", "broken")
    served.process.send_signal(signal.SIGTERM)
    code, output, errors = served.end()
    assert code == -signal.SIGTERM
    assert output[-1].startswith(f"{BY_HAND}: it could not be stopped (RuntimeError: port closed)") or errors
    assert errors[-1] == BY_HAND


def test_the_folder_runs_on_python_3_9():
    folder = Path(__file__).parents[2] / "src/vfpilco/plants"
    for file in (folder / "serve").glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 9))
    code = "import serve; m = serve.Motion(list); print(m.drive(m.begin), m.moving)"
    for python in sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python")):  # where there is one
        done = subprocess.run([python, "-S", "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == ("None False\n", "")
