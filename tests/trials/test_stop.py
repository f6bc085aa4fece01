"""The invariant: whatever happens at whatever line, the machine is stopped after the last step.

Faults are injected at lines of a trial: in learning, in an evaluation, in a dry run and in a served plant. A sample of
the lines is tried here, every line by `make test-long`, and every time that a line is executed by `make campaigns`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import random
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from campaign import Run, campaign, sample
from injection import Opened, Place, Tracer, ends_within
from peers import Learner as Client
from variants import variant

import vfpilco
from vfpilco import RealTime, Watcher
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.task import Task
from vfpilco.trials.learn import Given, begin
from vfpilco.trials.learner import Learner

POLICY = Path(__file__).parents[1] / "samples/policies-format3/naive-mlp-slew.safetensors"
HORIZON, SLEW = 8, 0.2
TORN = "ignore::pytest.PytestUnraisableExceptionWarning"
"""A connection that is interrupted while it is being closed is closed a little later, with a warning."""
LONGEST = 60.0
"""Seconds in which a case has ended."""
FEW, MORE = 40, 450
"""Cases of every mode: in `make test`, and in `make test-long`, where they are all lines."""


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no message")


class Terminated(BaseException):
    """What SIGTERM raises in these tests."""


FAULTS = (RuntimeError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, MemoryError, Mute)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Machine:
    """Records what it is asked for; it overwrites the inputs it was given and the positions it has returned."""

    def __init__(self, limit: float, most: float) -> None:
        self.limit, self.most, self.calls, self.violations = limit, most, [], []
        self.before, self.buffer = 0.0, np.zeros(2)

    def reset(self, seed: int) -> np.ndarray:
        self.calls.append("reset")
        self.before, self.buffer[:] = 0.0, 0.0
        return self.buffer

    def step(self, u: np.ndarray) -> np.ndarray:
        self.calls.append("step")
        applied = float(u[0])
        if abs(applied) > self.limit or abs(applied - self.before) > self.most * (1 + 1e-9):
            self.violations.append((self.before, applied))
        self.before = applied
        u[:] = 1e6
        self.buffer += 0.01 * applied
        return self.buffer

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def ordinary(monkeypatch):
    """SIGTERM raises; afterwards the priority of this process and its signals are as before."""
    monkeypatch.setattr(Task, "check", lambda task: None)  # It comes before the machine moves, and takes long.

    def terminate(number, frame):
        raise Terminated

    before, scheduling = signal.signal(signal.SIGTERM, terminate), (os.sched_getscheduler(0), os.sched_getparam(0))
    yield
    os.sched_setscheduler(0, *scheduling)
    signal.signal(signal.SIGTERM, before)
    gc.enable()


def small_task(machine: Machine) -> Task:
    """The cart-pole with few samples, in real time, but without a deadline."""
    patient = RealTime(missed=1e9)
    base = variant(vfpilco.task("cartpole"), plant=lambda: machine, realtime=patient, horizon=HORIZON)
    return variant(base, ends=lambda q: False, success=lambda q: False, exploration=vfpilco.FilteredNoise())


# -- the four modes: what is done, and the function with which a trial begins ---------------------------------------


def learning(machine: Machine, folder: Path) -> None:
    task = small_task(machine)
    plan = Given(trials=1, changes={"slew": SLEW}).plan(task)
    run = RunFolder(folder, {}, {})
    with run.held():
        begin(plan, run)
        Learner(plan, machine, run, Watcher()).explore(0)


def evaluating(machine: Machine, folder: Path) -> None:
    vfpilco.evaluate(small_task(machine), LearnedPolicy.load(POLICY), episodes=2)


def trying(machine: Machine, folder: Path) -> None:
    vfpilco.dry_run(small_task(machine))


def serving(machine: Machine, folder: Path) -> None:
    """A learner runs two trials; the second one ends with the connection."""
    address, over = {}, threading.Event()
    clients: list[Client] = []

    def say(line: str) -> None:
        if line.startswith("plant on"):
            host, _, port = line.rpartition("/")[2].rpartition(":")
            address["place"] = host, int(port)
            thread.start()
        if "said bye" in line:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def connected(seconds: float) -> Iterator[Client]:
        with Client(address["place"]) as client:
            client.connection.settimeout(seconds)
            clients.append(client)
            if over.is_set():
                raise ConnectionAbortedError
            yield client

    def converse() -> None:
        hello = {"type": "hello", "protocol": "vfpilco-plant", "version": 1}
        numbers = itertools.count()
        with contextlib.suppress(OSError, TypeError), connected(10) as client:
            client.receive()
            client.send(hello)
            for kind, more in [
                ("reset", {"seed": 1}),
                *[("step", {"inputs": [u]}) for u in (1.0, 2.0, 1.0)],
                ("stop", {}),
                ("reset", {"seed": 2}),
                ("step", {"inputs": [1.0]}),
            ]:
                client.send({"type": kind, "id": next(numbers), **more})
                if client.receive() is None:
                    break
        while not over.is_set():  # until the program has ended
            with contextlib.suppress(OSError), connected(1) as client:
                client.receive()
                client.send(hello, {"type": "bye", "id": next(numbers)})
                client.receive()

    thread = threading.Thread(target=converse)
    try:
        vfpilco.serve(
            machine,
            positions=["p", "alpha"],
            inputs=["force"],
            limits=[10.0],
            sampling_time=0.01,
            address="0",
            patience=20,
            step_timeout=60,
            say=say,
        )
    finally:
        over.set()
        for client in clients:  # A fault may have torn the server's end of a connection, which closes it later.
            with contextlib.suppress(OSError):
                client.connection.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(RuntimeError):
            thread.join(20)


MODES = {
    "while learning": (learning, "on_plant", SLEW * 10),
    "in an evaluation": (evaluating, "connect", 20.0),
    "in a dry run": (trying, "connect", 20.0),
    "while serving": (serving, "serve_next", 20.0),
}


def places(mode: str, folder: Path) -> list[Place]:
    """Every line of a trial, every time it is executed."""
    run, first, most = MODES[mode]
    machine = Machine(10.0, most)
    with Tracer(first, __file__) as tracer, contextlib.suppress(KeyboardInterrupt):
        run(machine, folder)
    assert machine.calls.count("step") >= 4
    return tracer.places


def check(mode: str, place: Place, fault, folder: Path) -> bool:
    """Inject a fault at a place, and check the invariant; whether the place was reached."""
    run, first, most = MODES[mode]
    machine, handlers = Machine(10.0, most), [signal.getsignal(number) for number in SIGNALS]
    scheduling, raised = os.sched_getscheduler(0), None

    def strike() -> None:
        if isinstance(fault, signal.Signals):
            signal.raise_signal(fault)
        else:
            raise fault

    try:
        with Opened(folder), ends_within(LONGEST), Tracer(first, __file__, place, strike) as tracer:
            run(machine, folder)
    except BaseException as error:
        raised = error
    said = f"{mode}, {fault!r} at {place}: {machine.calls}, raised {type(raised).__name__}"
    assert not isinstance(raised, AssertionError), f"{raised}: {said}"
    last = max((i for i, call in enumerate(machine.calls) if call in ("reset", "step")), default=-1)
    assert last < 0 or "stop" in machine.calls[last:], f"not stopped: {said}"
    assert os.sched_getscheduler(0) == scheduling, f"priority not restored: {said}"
    assert [signal.getsignal(number) for number in SIGNALS] == handlers, f"handlers not restored: {said}"
    assert gc.isenabled(), f"no garbage collection: {said}"
    if tracer.hit and isinstance(fault, signal.Signals):
        assert isinstance(raised, KeyboardInterrupt | Terminated), f"the signal was lost: {said}"
    assert not machine.violations, said
    return tracer.hit


def collect() -> None:
    """Close connections that were interrupted while they were being closed; a watchdog may still know them."""
    for thread in threading.enumerate():
        if thread.name == "vfpilco watchdog":
            thread.join(10)
    gc.collect()


def inject(run: Run, mode: str, folder: Path, once: bool = False) -> None:
    """Faults at the places of a mode: seed 2i an exception at the i-th place, seed 2i + 1 a signal; then again.

    With `once`, faults at places chosen at random, each line once.
    """
    found, hits = places(mode, folder / "first"), []
    if once:
        found = list({(place.file, place.line): place for place in found}.values())
        random.Random(f"lines of {mode}").shuffle(found)

    def case(seed: int) -> None:
        turn, kinds = seed // 2, SIGNALS if seed % 2 else FAULTS
        place = found[(seed if once else turn) % len(found)]
        hits.append(check(mode, place, kinds[turn % len(kinds)], folder / str(seed)))
        shutil.rmtree(folder / str(seed), ignore_errors=True)

    def reached() -> None:
        collect()
        assert sum(hits) > 0.8 * len(hits)

    run(case, reached)


@pytest.mark.filterwarnings(TORN)
@pytest.mark.parametrize("mode", MODES)
def test_the_machine_is_stopped_after_a_fault_at_any_of_a_sample_of_lines(mode, tmp_path):
    inject(sample(FEW), mode, tmp_path, once=True)


def test_a_fault_in_the_watchdog_at_any_time_leaves_nothing_waiting(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "LONGEST", 5.0)
    mode = "in a dry run"
    for i, place in enumerate(places(mode, tmp_path)):
        if place.file.endswith("watchdog.py"):
            check(mode, place, FAULTS[i % len(FAULTS)], tmp_path)


@pytest.mark.long
@pytest.mark.filterwarnings(TORN)
@pytest.mark.parametrize("mode", MODES)
def test_the_machine_is_stopped_after_a_fault_at_every_line(mode, tmp_path):
    inject(sample(MORE), mode, tmp_path, once=True)


@pytest.mark.campaign
@pytest.mark.filterwarnings(TORN)
@pytest.mark.parametrize("mode", MODES)
def test_faults(mode, tmp_path):
    inject(campaign(f"faults {mode}"), mode, tmp_path)
