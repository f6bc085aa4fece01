"""Machines that are driven in real time, and limits that protect them."""

from __future__ import annotations

import dataclasses
import gc
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import SIZES
from variants import variant

import vfpilco
from vfpilco import RBF, Clock, PlantError, RealTime, Settings, dry_run, evaluate
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.limits import InputLimits
from vfpilco.rollout.particles import Rollout
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import MODEL
from vfpilco.trials.execute import Conditions, execute
from vfpilco.trials.plan import Plan
from vfpilco.trials.punctuality import Punctuality, undisturbed

SMALL = {"steps": 4, **SIZES}


class Slow(CartPole):
    """Waits for a clock; some samples take longer."""

    delays: dict[int, float] = {}  # noqa: RUF012

    def reset(self, seed):
        self.clock, self.count, self.stopped = Clock(self.sampling_time), 0, 0
        return super().reset(seed)

    def step(self, u):
        self.count += 1
        time.sleep(self.delays.get(self.count, 0.0))
        self.clock.wait()
        return super().step(u)

    def stop(self):
        self.stopped += 1


class NoteRecorder(vfpilco.Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def quick_task(**changes):
    """Cart-pole at 200 Hz for a tenth of a second, in real time."""
    base = vfpilco.task("cartpole")
    plant = Slow(0.005, base.machine.sensor)
    return plant, variant(
        base, plant=lambda: plant, sampling_time=0.005, horizon=20, success=lambda q: False, **changes
    )


def test_a_clock_keeps_its_rate_and_catches_up_after_a_late_sample():
    clock = Clock(0.005)
    clock.start()
    begun, late = time.perf_counter(), []
    for i in range(20):
        time.sleep(0.012 if i == 7 else 0)
        late.append(clock.wait())
    assert time.perf_counter() - begun == pytest.approx(0.1, abs=0.02)
    assert late[7] > 0.006
    assert time.perf_counter() >= begun + 0.1


def test_lateness_and_computing_time_of_every_sample_are_recorded():
    plant, task = quick_task()
    plant.delays = {5: 0.02}
    punctuality = Punctuality(RealTime(most_missed=100), task.machine.sampling_time)
    trial = execute(task, plant, lambda q: np.zeros(1), 0, Conditions(punctuality=punctuality))
    assert trial.steps == 20
    assert len(punctuality.late) == 21
    assert len(punctuality.computing) == 20
    assert punctuality.late[5] > 0.01
    timing = punctuality.timing(3)
    assert (timing.trial, timing.phase) == (3, "samples")
    assert timing.latest_s == max(punctuality.late)
    assert 0 < timing.late_share <= 1
    assert 0 <= timing.computing_median_s <= timing.computing_longest_s
    rows = punctuality.to_csv().splitlines()
    assert rows[0] == "sample,late_s,computing_s"
    assert len(rows) == 22
    assert rows[-1].endswith(",")


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="needs a system with priorities")
def test_a_trial_in_real_time_has_priority_where_that_is_allowed_and_only_while_it_runs():
    before, seen = os.sched_getscheduler(0), []
    undisturbed(lambda: seen.append((os.sched_getscheduler(0), gc.isenabled())))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, before, os.sched_param(0))
        expected = os.SCHED_FIFO
    except PermissionError:
        expected = before
    assert seen == [(expected, False)]
    assert os.sched_getscheduler(0) == before
    assert gc.isenabled()


def test_too_many_missed_deadlines_stop_the_plant_and_keep_the_data(tmp_path):
    plant, task = quick_task(realtime=RealTime(most_missed=2), trials=1)
    plant.delays = dict.fromkeys(range(8, 20), 0.02)
    with pytest.raises(PlantError, match=r"3 samples came more than 5 ms late.*the plant was stopped"):
        vfpilco.learn(task, out=tmp_path / "a", **SMALL)
    assert plant.stopped == 1
    partial = (tmp_path / "a/trials/000.partial.csv").read_text().splitlines()
    assert 8 <= len(partial) - 1 < 20
    assert len((tmp_path / "a/trials/000.timing.csv").read_text().splitlines()) >= 8


class Hasty(Slow):
    """Does not wait."""

    def step(self, u):
        return CartPole.step(self, u)


def test_a_driver_that_does_not_wait_is_stopped_and_reported(tmp_path):
    _, task = quick_task(realtime=RealTime(most_missed=2), trials=1)
    task = variant(task, plant=lambda: Hasty(0.005, task.machine.sensor))
    with pytest.raises(
        PlantError, match=r"3 samples came more than 5 ms too early.*the task's sampling time: let step"
    ):
        vfpilco.learn(task, out=tmp_path / "a", **SMALL)
    tried = dry_run(task)
    assert any("It is too fast" in problem for problem in tried.problems)
    assert not any("as expected" in sentence for sentence in tried.sentences())


@pytest.mark.long
def test_an_evaluation_is_monitored_too_and_asks_before_every_episode():
    plant, task = quick_task(realtime=RealTime(most_missed=1000), trials=1)
    result = vfpilco.learn(task, **SMALL)
    recorder = EpisodeRecorder()
    found = evaluate(task, result.policy, 2, 0, recorder)
    assert recorder.asked == recorder.episodes == [1, 2]
    assert recorder.costs == found.costs
    plant.delays = dict.fromkeys(range(1, 20), 0.02)
    with pytest.raises(PlantError, match="the plant was stopped"):
        evaluate(variant(task, realtime=RealTime(most_missed=1)), result.policy, 1)


class EpisodeRecorder(vfpilco.Watcher):
    def __init__(self):
        self.asked, self.episodes, self.costs = [], [], []

    def ready(self, trial):
        self.asked.append(trial)

    def evaluated(self, result):
        self.episodes.append(result.episode)
        self.costs.append(result.cost)


def test_a_start_far_from_the_tasks_is_noted(tmp_path):
    base = vfpilco.task("cartpole")
    elsewhere = dataclasses.replace(base, start=vfpilco.GaussianStart((0.0, 3.1), (0.01, 0.01)))
    recorder = NoteRecorder()
    vfpilco.learn(elsewhere, trials=1, out=tmp_path / "a", watch=recorder, **SMALL)
    assert sum("The trial started with alpha at" in note for note in recorder.notes) == 2
    assert base.far_from_start(np.array([0.0, 2 * np.pi])) is None  # full turns do not matter


def test_a_run_in_real_time_records_how_punctual_it_was(tmp_path):
    _, task = quick_task(realtime=RealTime(most_missed=1000), trials=1)
    result = vfpilco.learn(task, out=tmp_path / "a", **SMALL)
    assert len(result.rows) == 2
    timings = (tmp_path / "a/timings.jsonl").read_text()
    assert timings.count('"samples"') == 2
    assert "late_share" in timings
    assert (tmp_path / "a/trials/001.timing.csv").exists()
    RunFolder(tmp_path / "a").check()


def test_a_position_outside_its_safe_range_ends_the_trial_and_the_rest_is_learned_from(tmp_path):
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.machine.positions[0], safe=(-0.4, 0.4))
    task = variant(base, positions=(cart, base.machine.positions[1]))
    recorder = NoteRecorder()
    result = vfpilco.learn(task, seed=1, trials=1, out=tmp_path / "a", watch=recorder, **SMALL)
    row, trial = result.rows[0], result.trials[0]
    assert trial.steps < task.horizon
    assert np.all(np.abs(trial.q[:, 0]) <= 0.4)
    assert row.ended_s == trial.duration
    assert "p was " in recorder.notes[0]
    assert "outside its safe range -0.4 to 0.4" in recorder.notes[0]
    assert not row.success


def test_a_start_outside_the_safe_range_applies_no_input():
    base, applied = vfpilco.task("cartpole"), []

    class Watched(CartPole):
        def step(self, u):
            applied.append(u)
            return super().step(u)

    machine = base.machine
    cart = dataclasses.replace(machine.positions[0], safe=(1.0, 2.0))
    task = variant(base, positions=(cart, machine.positions[1]))
    with pytest.raises(
        PlantError, match=r"starts where it may not be: p was .* safe range 1 to 2. Nothing was applied"
    ):
        execute(task, Watched(machine.sampling_time, machine.sensor), lambda q: np.ones(1), 0)
    assert not applied


def test_the_slew_limit_holds_on_the_plant_in_the_particles_and_in_the_policy(tmp_path):
    task = vfpilco.task("cartpole")
    result = vfpilco.learn(task, seed=1, trials=1, out=tmp_path / "a", slew=0.05, **SMALL)
    most = 0.05 * task.machine.limits[0] * (1 + 1e-6)

    def fastest(u):
        return np.abs(np.diff(u, axis=0, prepend=0 * u[:1])).max()

    assert 0.9 * most < fastest(result.trials[0].u) <= most
    folder = RunFolder(tmp_path / "a")
    learned, model = folder.policy(1), folder.artifact(MODEL, 1)[0]
    again = np.array([learned(q) for q in result.trials[1].q[:-1]])
    np.testing.assert_allclose(again, result.trials[1].u, atol=1e-9)
    # A policy with much larger inputs.
    wild = {**learned.params, "weights": 1e4 * learned.params["weights"]}
    eager = vfpilco.LearnedPolicy(learned.state, learned.policy, wild, slew=learned.slew)
    assert 0.9 * most < fastest(np.array([eager(q) for q in result.trials[0].q])) <= most
    plan = result.plan
    simulator = plan.simulator(plan.dynamics, learned.policy)
    rolled = simulator.rollout(wild, model.posterior.cast("float32"), jax.random.key(0), 4)
    assert 0.9 * most < fastest(np.asarray(rolled.u)) <= most


def test_a_gentle_run_uses_part_of_the_limits_and_more_in_every_trial():
    task = vfpilco.task("cartpole")
    gentle = vfpilco.learn(task, seed=1, trials=1, gentle=0.4, **SMALL)
    explored = np.array(task.exploring_inputs(1, 0))
    np.testing.assert_allclose(gentle.trials[0].u[10:], 0.4 * explored[10:])
    assert np.all(np.abs(gentle.trials[0].u[:10]) <= 0.4 * np.abs(explored[:10]) + 1e-12)  # inputs grow from small
    assert gentle.policy is not None
    assert gentle.policy.policy.inputs.limits == pytest.approx((6.0,))
    wild = {**gentle.policy.params, "weights": 1e4 * gentle.policy.params["weights"]}
    eager = vfpilco.LearnedPolicy(gentle.policy.state, gentle.policy.policy, wild)
    assert 5.9 < np.abs([eager(q) for q in gentle.trials[0].q]).max() <= 6.0
    np.testing.assert_allclose([InputLimits(gentle=0.4).share(trial) for trial in range(5)], [0.4, 0.6, 0.8, 1.0, 1.0])


def test_the_input_penalty_adds_to_the_cost_and_has_a_gradient():
    task = vfpilco.task("cartpole")
    rolled = Rollout(jnp.zeros((3, 2, 2)), jnp.array([[[5.0], [0.0]], [[10.0], [-5.0]]]), jnp.ones((3, 2)))

    def simulator(price):
        plan = Plan(task, Settings().replace(input_penalty=price, input_change_penalty=0.0), 1, 1)
        return plan.simulator(plan.dynamics, RBF().bind(PolicyInputs((1.0,), (10.0,), (False,))))

    assert float(simulator(0.0).expected_cost(rolled)) == 3.0
    squares = ((0.5**2 + 0) + (1 + 0.5**2)) / 2  # of u / u_max, summed over time, the mean of two particles
    assert float(simulator(0.2).expected_cost(rolled)) == pytest.approx(3 + 0.2 * squares)
    gradient = jax.grad(lambda u: simulator(0.2).expected_cost(rolled._replace(u=u)))(rolled.u)
    np.testing.assert_allclose(gradient, 0.2 * rolled.u / 10**2, rtol=1e-6)


@pytest.mark.parametrize("bad", [{"slew": -1.0}, {"gentle": 0.0}, {"gentle": 1.5}, {"input_penalty": -1.0}])
def test_invalid_settings_are_refused(bad):
    with pytest.raises(vfpilco.UserError, match=next(iter(bad))):
        vfpilco.learn(vfpilco.task("cartpole"), **bad)


def test_invalid_real_time_rules_are_refused():
    with pytest.raises(vfpilco.UserError, match="late <= missed"):
        RealTime(late=2.0, missed=1.0)
