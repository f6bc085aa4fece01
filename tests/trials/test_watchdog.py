"""A step that does not return: the machine is stopped all the same, the data are kept, and it is said what hung."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest
from peers import QUICK, Peer
from variants import variant

import vfpilco
from vfpilco import PlantError, RealTime
from vfpilco.plants.tcp import RemotePlant, Timeouts
from vfpilco.trials.execute import Conditions, execute
from vfpilco.trials.punctuality import timekeeper

QUICKLY = RealTime(missed=1e9, step_timeout=0.2, reset_timeout=0.3)


class Hanging:
    """Does not return from its third step, or from its reset, before `end`."""

    def __init__(self, where: str, stubborn: bool = False) -> None:
        self.where, self.stubborn, self.steps = where, stubborn, 0
        self.stops: list[str] = []
        self.end = time.monotonic() + 30

    def reset(self, seed: int) -> np.ndarray:
        if self.where == "reset":
            self.hang()
        return np.zeros(2)

    def step(self, u: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.where == "step" and self.steps == 3:
            self.hang()
        return np.zeros(2)

    def hang(self) -> None:
        while time.monotonic() < self.end:
            with contextlib.suppress(BaseException) if self.stubborn else contextlib.nullcontext():
                time.sleep(max(min(self.end - time.monotonic(), 0.5 if self.stubborn else 30), 0))

    def stop(self) -> None:
        self.stops.append(threading.current_thread().name)


def run(task, plant) -> None:
    watched = variant(task, realtime=QUICKLY, horizon=10)
    execute(watched, plant, lambda q: np.zeros(1), 0, Conditions(punctuality=timekeeper(watched)))


@pytest.mark.parametrize(("where", "samples", "seconds"), [("step", 3, "0.233"), ("reset", 0, "0.3")])
def test_the_machine_is_stopped_by_another_thread_and_the_trial_ends(where, samples, seconds, task):
    plant = Hanging(where)
    with pytest.raises(
        PlantError, match=rf"hung at sample {samples} \({where} did not return within {seconds} s\)"
    ) as e:
        run(task, plant)
    assert time.monotonic() < plant.end
    assert plant.stops[0] != threading.main_thread().name
    assert plant.stops[-1] == threading.main_thread().name
    assert e.value.partial is not None
    assert len(e.value.partial.q) == samples


def test_a_run_whose_plant_hangs_keeps_its_samples_and_can_be_resumed(tmp_path, task):
    plant = Hanging("step")
    hanging = variant(task, plant=lambda: plant, realtime=QUICKLY, horizon=20)
    with pytest.raises(PlantError, match="hung at sample 3"):
        vfpilco.learn(hanging, trials=1, out=tmp_path / "a")
    assert len((tmp_path / "a/trials/000.partial.csv").read_text().splitlines()) == 1 + 3


def test_a_step_that_cannot_be_interrupted_is_reported_after_the_machine_was_stopped(task, monkeypatch, capfd):
    monkeypatch.setattr("vfpilco.plants.serve.watchdog.GRACE", 0.1)
    plant = Hanging("step", stubborn=True)
    plant.end = time.monotonic() + 3
    with pytest.raises(PlantError, match="hung at sample 3"):
        run(task, plant)
    said = capfd.readouterr().err
    assert "step did not return within 0.233 s and cannot be interrupted: the machine was stopped" in said
    assert "kill -9 " in said


def test_in_another_thread_the_trial_ends_as_soon_as_the_step_returns(task):
    class Woken(Hanging):
        def stop(self) -> None:
            super().stop()
            self.end = 0.0

        def hang(self) -> None:
            while time.monotonic() < self.end:
                time.sleep(0.01)

    plant, seen = Woken("step"), []

    def trial() -> None:
        try:
            run(task, plant)
        except PlantError as error:
            seen.append(str(error))

    thread = threading.Thread(target=trial)
    thread.start()
    thread.join(20)
    assert "hung at sample 3" in seen[0]
    assert len(plant.stops) == 2


def test_a_stop_may_take_longer_than_a_step(task):
    class Slow(Hanging):
        def stop(self) -> None:
            time.sleep(0.8)
            super().stop()

    plant = Slow("")
    run(task, plant)
    assert plant.stops == [threading.main_thread().name]


def test_without_real_time_there_is_no_watchdog(task):
    before = threading.active_count()
    execute(variant(task, horizon=3), Hanging(""), lambda q: np.full(1, threading.active_count() - before), 0)
    assert threading.active_count() == before


def test_a_plant_on_tcp_is_stopped_over_a_second_connection(task):
    waiting = threading.Event()

    def silent(peer: Peer, request: dict) -> None:
        waiting.set()

    def stop() -> None:
        waiting.wait(10)
        plant.stop_aside()
        stopped.set()

    stopped = threading.Event()
    with Peer(silent) as peer, RemotePlant.connect(peer.url, task, Timeouts(**{**vars(QUICK), "step": 30})) as plant:
        plant.reset(0)
        thread = threading.Thread(target=stop)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(PlantError, match="closed the connection"):
            plant.step(np.zeros(1))
        assert time.monotonic() - begun < 20
        thread.join(10)
        assert stopped.is_set()
    assert [request["type"] for request in peer.received[1]][:2] == ["hello", "stop"]


def test_timeouts_must_be_positive():
    with pytest.raises(vfpilco.UserError, match="positive step_timeout, got 0"):
        RealTime(step_timeout=0)
