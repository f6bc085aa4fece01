import dataclasses
import gc
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vfpilco
from vfpilco.trials.dryrun import dry_run
from vfpilco.common.errors import PlantError
from vfpilco.trials.evaluate import evaluate
from vfpilco.trials.execute import execute
from vfpilco.model.gp import Model
from vfpilco.trials.learner import Learner
from vfpilco.policy.limits import gentleness
from vfpilco.rollout.particles import Rollout
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.policy import RBFNetwork
from vfpilco.tasks.realtime import Clock, Punctuality, RealTime, undisturbed
from vfpilco.storage.runfolder import RunFolder

SMALL = {"particles": 4, "basis_functions": 5, "steps": 4, "inducing": 16, "shards": 2}


class Slow(CartPole):
    """Keeps time by a clock; some samples take longer."""

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


class Hearing(vfpilco.Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def quick_task(**changes):
    """Cart-pole at 200 Hz for a tenth of a second, in real time."""
    base = vfpilco.task("cartpole")
    plant = Slow(0.005, base.sensor)
    return plant, dataclasses.replace(
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
    punctuality = Punctuality(RealTime(most_missed=100), task.sampling_time)
    trial = execute(task, plant, lambda q: np.zeros(1), 0, punctuality=punctuality)
    assert trial.steps == 20
    assert len(punctuality.late) == 21
    assert len(punctuality.computing) == 20
    assert punctuality.late[5] > 0.01
    summary = punctuality.summary()
    assert summary["latest_s"] == max(punctuality.late)
    assert 0 < summary["late_share"] <= 1
    rows = punctuality.to_csv().splitlines()
    assert rows[0] == "sample,late_s,computing_s"
    assert len(rows) == 22
    assert rows[-1].endswith(",")


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="a system without priorities")
def test_a_trial_in_real_time_goes_before_others_where_it_may_and_only_then():
    before, seen = os.sched_getscheduler(0), []
    with undisturbed():
        seen.append((os.sched_getscheduler(0), gc.isenabled()))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, before, os.sched_param(0))
        due = os.SCHED_FIFO
    except PermissionError:
        due = before
    assert seen == [(due, False)]
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


def test_a_driver_that_does_not_wait_is_stopped_and_told(tmp_path):
    _, task = quick_task(realtime=RealTime(most_missed=2), trials=1)
    task = dataclasses.replace(task, plant=lambda: Hasty(0.005, task.sensor))
    with pytest.raises(PlantError, match=r"3 samples came more than 5 ms too early.*faster than the task"):
        vfpilco.learn(task, out=tmp_path / "a", **SMALL)
    tried = dry_run(task)
    assert any("It is too fast" in problem for problem in tried.problems)
    assert not any("as it should" in sentence for sentence in tried.sentences())


def test_an_evaluation_keeps_time_too_and_asks_before_every_episode():
    plant, task = quick_task(realtime=RealTime(most_missed=1000), trials=1)
    result = vfpilco.learn(task, **SMALL)
    hearing = Asked()
    found = evaluate(task, result.policy, 2, 0, hearing)
    assert hearing.asked == [1, 2]
    assert [row["cost"] for row in hearing.rows] == found.costs
    plant.delays = dict.fromkeys(range(1, 20), 0.02)
    with pytest.raises(PlantError, match="the plant was stopped"):
        evaluate(dataclasses.replace(task, realtime=RealTime(most_missed=1)), result.policy, 1)


class Asked(vfpilco.Watcher):
    def __init__(self):
        self.asked, self.rows = [], []

    def ready(self, trial):
        self.asked.append(trial)

    def executed(self, row):
        self.rows.append(row)


def test_a_start_far_from_the_tasks_is_noted(tmp_path):
    base = vfpilco.task("cartpole")
    elsewhere = dataclasses.replace(base, start=vfpilco.GaussianStart((0.0, 3.1), (0.01, 0.01)))
    hearing = Hearing()
    vfpilco.learn(elsewhere, trials=1, out=tmp_path / "a", watch=hearing, **SMALL)
    assert sum("The trial started with alpha at" in note for note in hearing.notes) == 2
    assert base.far_from_start(np.array([0.0, 2 * np.pi])) is None  # whole turns do not matter


def test_a_run_in_real_time_keeps_how_punctual_it_was(tmp_path):
    _, task = quick_task(realtime=RealTime(most_missed=1000), trials=1)
    result = vfpilco.learn(task, out=tmp_path / "a", **SMALL)
    assert len(result.rows) == 2
    timings = (tmp_path / "a/timings.jsonl").read_text()
    assert timings.count('"samples"') == 2
    assert "late_share" in timings
    assert (tmp_path / "a/trials/001.timing.csv").exists()
    RunFolder(tmp_path / "a").check()


def test_a_position_outside_of_its_safe_range_ends_the_trial_and_is_learned_from(tmp_path):
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.positions[0], safe=(-0.4, 0.4))
    task = dataclasses.replace(base, positions=(cart, base.positions[1]))
    heard = Hearing()
    result = vfpilco.learn(task, seed=1, trials=1, out=tmp_path / "a", watch=heard, **SMALL)
    row, trial = result.rows[0], result.trials[0]
    assert trial.steps < task.horizon
    assert np.all(np.abs(trial.q[:, 0]) <= 0.4)
    assert row["ended_s"] == trial.duration
    assert "p was " in heard.notes[0]
    assert "outside of its safe range -0.4 to 0.4" in heard.notes[0]
    assert not row["success"]


def test_a_start_outside_of_the_safe_range_moves_nothing():
    base, applied = vfpilco.task("cartpole"), []

    class Watched(CartPole):
        def step(self, u):
            applied.append(u)
            return super().step(u)

    cart = dataclasses.replace(base.positions[0], safe=(1.0, 2.0))
    task = dataclasses.replace(base, positions=(cart, base.positions[1]))
    with pytest.raises(
        PlantError, match=r"starts where it may not be: p was .* safe range 1 to 2. Nothing was applied"
    ):
        execute(task, Watched(base.sampling_time, base.sensor), lambda q: np.ones(1), 0)
    assert not applied


def test_slew_limit_holds_on_the_plant_in_the_particles_and_in_the_policy(tmp_path):
    task = vfpilco.task("cartpole")
    result = vfpilco.learn(task, seed=1, trials=1, out=tmp_path / "a", slew=0.05, **SMALL)
    most = 0.05 * task.limits[0] * (1 + 1e-6)

    def fastest(u):
        return np.abs(np.diff(u, axis=0, prepend=0 * u[:1])).max()

    assert 0.9 * most < fastest(result.trials[0].u) <= most
    folder = RunFolder(tmp_path / "a")
    learned, model = folder.policy(1), Model.from_arrays(*folder.arrays("models", 1))
    again = np.array([learned(q) for q in result.trials[1].q[:-1]])
    np.testing.assert_allclose(again, result.trials[1].u, atol=1e-9)
    # One that wants more than it may.
    wild = {**learned.params, "weights": 1e4 * learned.params["weights"]}
    eager = vfpilco.LearnedPolicy(learned.representation, learned.policy, wild, slew=learned.slew)
    assert 0.9 * most < fastest(np.array([eager(q) for q in result.trials[0].q])) <= most
    simulator = Learner(task, None, result.settings, 1, 1, None, vfpilco.Watcher()).simulator(learned.policy)
    rolled = simulator.rollout(wild, model.posterior.cast("float32"), jax.random.key(0), 4)
    assert 0.9 * most < fastest(np.asarray(rolled.u)) <= most


def test_gentle_uses_part_of_the_limits_and_more_in_every_trial():
    task = vfpilco.task("cartpole")
    gentle = vfpilco.learn(task, seed=1, trials=1, gentle=0.4, **SMALL)
    explored = np.array(task.exploring_inputs(1, 0))
    np.testing.assert_allclose(gentle.trials[0].u, 0.4 * explored)
    assert gentle.policy is not None
    assert gentle.policy.policy.limits == pytest.approx((6.0,))
    wild = {**gentle.policy.params, "weights": 1e4 * gentle.policy.params["weights"]}
    eager = vfpilco.LearnedPolicy(gentle.policy.representation, gentle.policy.policy, wild)
    assert 5.9 < np.abs([eager(q) for q in gentle.trials[0].q]).max() <= 6.0
    np.testing.assert_allclose([gentleness(0.4, trial) for trial in range(5)], [0.4, 0.6, 0.8, 1.0, 1.0])


def test_an_input_penalty_is_the_price_of_the_inputs_and_has_a_gradient():
    task = vfpilco.task("cartpole")
    rolled = Rollout(jnp.zeros((3, 2, 2)), jnp.array([[[5.0], [0.0]], [[10.0], [-5.0]]]), jnp.ones((3, 2)))

    def simulator(price):
        settings = dataclasses.replace(task.settings, input_penalty=price)
        learner = Learner(task, None, settings, 1, 1, None, vfpilco.Watcher())
        return learner.simulator(RBFNetwork((1.0,), (False,), (10.0,)))

    assert float(simulator(0.0).expected_cost(rolled)) == 3.0
    squares = ((0.5**2 + 0) + (1 + 0.5**2)) / 2  # of u / u_max, summed over time, the mean of two particles
    assert float(simulator(0.2).expected_cost(rolled)) == pytest.approx(3 + 0.2 * squares)
    slope = jax.grad(lambda u: simulator(0.2).expected_cost(rolled._replace(u=u)))(rolled.u)
    np.testing.assert_allclose(slope, 0.2 * rolled.u / 10**2, rtol=1e-6)


@pytest.mark.parametrize("bad", [{"slew": -1.0}, {"gentle": 0.0}, {"gentle": 1.5}, {"input_penalty": -1.0}])
def test_settings_that_make_no_sense_are_refused(bad):
    with pytest.raises(vfpilco.UserError, match=next(iter(bad))):
        vfpilco.learn(vfpilco.task("cartpole"), **bad)


def test_real_time_rules_that_make_no_sense_are_refused():
    with pytest.raises(vfpilco.UserError, match="late <= missed"):
        RealTime(late=2.0, missed=1.0)
