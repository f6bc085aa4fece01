"""Trials on plants: what is recorded, plants that fail, and what a plant may know."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from folders import SIZES
from variants import variant

import vfpilco
from vfpilco import RealTime
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.state.filtered import FullState
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.trialfile import read_log
from vfpilco.trials.execute import connect, execute

SMALL = {"steps": 6, **SIZES}


def zero(q):
    return np.zeros(1)


# -- plants that fail --------------------------------------------------------------------------------------------


class Failing:
    """The cart-pole with a fault at a given sample of a given trial."""

    def __init__(self, fault, trial, sample=30):
        self.plant = vfpilco.task("cartpole").machine.plant()
        self.fault, self.trial, self.sample = fault, trial, sample
        self.trials = self.samples = self.stops = 0

    def reset(self, seed):
        self.trials, self.samples = self.trials + 1, 0
        return self.plant.reset(seed)

    def step(self, u):
        self.samples += 1
        q = self.plant.step(u)
        return self.fault(q) if (self.trials, self.samples) == (self.trial, self.sample) else q

    def stop(self):
        self.stops += 1
        if self.fault is unstoppable and self.trials == self.trial:
            raise RuntimeError("port closed")


def unstoppable(q):
    return q


def broken(q):
    raise RuntimeError("cable pulled")


def interrupted(q):
    raise KeyboardInterrupt


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda q: np.array([q[0], np.nan]), r"returned alpha = nan at sample 30 \(t = 1 s\): check the sensor"),
        (broken, r"failed at sample 30 \(RuntimeError: cable pulled, test_execute.py line \d+\): fix it\.$"),
        (lambda q: q[:1], r"returned positions of shape \(1,\) at sample 30 instead of \(2,\): return p, alpha"),
        (lambda q: None, "returned nothing at sample 30: let reset and step return the measured p, alpha"),
    ],
)
def test_a_plant_that_fails_loses_no_earlier_trial(tmp_path, task, fault, words):
    plant = Failing(fault, trial=2)
    with pytest.raises(vfpilco.PlantError, match=words):
        vfpilco.learn(variant(task, plant=lambda: plant), trials=1, out=tmp_path / "a", **SMALL)
    folder = RunFolder(tmp_path / "a")
    assert [row.file for row in folder.results()] == ["trials/000.csv"]
    assert folder.trial(0, 2).steps == 90
    assert read_log(tmp_path / "a/trials/001.partial.csv", 2, 1, 1 / 30).steps == 29
    assert plant.stops == 2


def test_a_finished_trial_is_kept_even_if_the_plant_cannot_be_stopped_or_the_success_test_fails(tmp_path, task):
    plant = Failing(unstoppable, trial=1)
    with pytest.raises(vfpilco.PlantError, match=r"^STOP THE MACHINE BY HAND: .* \(RuntimeError: port closed"):
        vfpilco.learn(variant(task, plant=lambda: plant), trials=1, out=tmp_path / "a", **SMALL)
    assert RunFolder(tmp_path / "a").trial(0, 2).steps == 90
    failing = dataclasses.replace(task, success=lambda q: {0.0: False}[q.sum()])
    with pytest.raises(vfpilco.UserError, match="success test or a measure of task 'cartpole' failed"):
        vfpilco.learn(failing, trials=1, out=tmp_path / "b", **SMALL)
    assert RunFolder(tmp_path / "b").trial(0, 2).steps == 90


def test_ctrl_c_stops_the_plant_and_keeps_the_trial_so_far(tmp_path, task):
    plant = Failing(interrupted, trial=1, sample=20)
    with pytest.raises(KeyboardInterrupt):
        vfpilco.learn(variant(task, plant=lambda: plant), trials=1, out=tmp_path / "a", **SMALL)
    assert plant.stops == 1
    assert read_log(tmp_path / "a/trials/000.partial.csv", 2, 1, 1 / 30).steps == 19


@pytest.mark.parametrize("invalid", [np.array([np.nan]), np.array(1.0), np.zeros(2)])
def test_invalid_inputs_of_a_controller_never_reach_the_plant(task, invalid):
    with pytest.raises(vfpilco.PlantError, match="1 finite inputs were expected: nothing was applied"):
        execute(task, task.machine.plant(), lambda q: invalid, seed=0)


def test_a_plant_that_cannot_be_made_is_reported(task):
    def missing():
        raise OSError("no such port")

    with pytest.raises(vfpilco.PlantError, match=r"could not be made or reached \(OSError: no such port, test_execute"):
        connect(variant(task, plant=missing))


def test_inputs_are_limited(task):
    trial = execute(task, task.machine.plant(), lambda q: np.array([1e3]), seed=0)
    assert np.all(trial.u == 10.0)


# -- what a plant may know ---------------------------------------------------------------------------------------


class Bare:
    """The cart-pole with nothing but the three methods of every plant."""

    def __init__(self):
        self.plant = vfpilco.task("cartpole").machine.plant()
        self.samples = 0

    def reset(self, seed):
        self.samples = 0
        return self.plant.reset(seed)

    def step(self, u):
        self.samples += 1
        return self.plant.step(u)

    def stop(self):
        pass


class KnowsPositions(Bare):
    """A plant that knows its true positions, but only after its first reset."""

    def reset(self, seed):
        measured = super().reset(seed)
        self.simulated = self.plant
        return measured

    @property
    def true_positions(self):
        return self.simulated.true_positions


class KnowsOnlyVelocities(Bare):
    @property
    def true_velocities(self):
        return self.plant.true_velocities


class EndsEarly(Bare):
    """Ends every trial after 50 samples."""

    @property
    def terminated(self):
        return self.samples >= 50


class Closeable(Bare):
    closed = 0

    def close(self):
        type(self).closed += 1


def test_a_plant_without_any_capability_is_learned_from_its_measurements(tmp_path, task):
    result = vfpilco.learn(variant(task, plant=Bare), trials=1, out=tmp_path / "a", **SMALL)
    for trial in (*result.trials, RunFolder(tmp_path / "a").trial(1, 2)):
        assert trial.steps == 90
        assert trial.true is None
        assert trial.velocity is None
        assert trial.evaluated is trial.q
    assert result.rows[1].cost == pytest.approx(task.total_cost(result.trials[1].q))
    assert not list((tmp_path / "a/trials").glob("*.true.csv"))


def test_cost_and_success_are_computed_from_true_positions_where_they_are_known(tmp_path, task):
    result = vfpilco.learn(variant(task, plant=KnowsPositions), trials=1, out=tmp_path / "a", **SMALL)
    reference = vfpilco.learn(task, trials=1, **SMALL)
    kept = RunFolder(tmp_path / "a").trial(0, 2)
    for trial in (result.trials[0], kept):
        np.testing.assert_array_equal(trial.q, reference.trials[0].q)
        np.testing.assert_array_equal(trial.true, reference.trials[0].true)
        assert trial.velocity is None
    assert [row.cost for row in result.rows] == [row.cost for row in reference.rows]
    columns = (tmp_path / "a/trials/000.true.csv").read_text().splitlines()[0]
    assert columns == "t,true p,true alpha"


def test_velocities_are_recorded_only_together_with_true_positions(task):
    trial = execute(task, KnowsOnlyVelocities(), zero, 0)
    assert trial.true is None
    assert trial.velocity is None
    trial = execute(task, task.machine.plant(), zero, 0)
    assert trial.true is not None
    assert trial.velocity is not None


@pytest.mark.parametrize("plant", [Bare, KnowsPositions, KnowsOnlyVelocities])
def test_the_full_state_needs_true_positions_and_velocities(tmp_path, task, plant):
    with pytest.raises(vfpilco.UserError, match="does not know its true state"):
        vfpilco.learn(variant(task, plant=plant), trials=1, out=tmp_path / "a", **{**SMALL, "state": FullState()})
    assert not (tmp_path / "a").exists()


def test_a_plant_may_end_a_trial_early(tmp_path, task):
    result = vfpilco.learn(variant(task, plant=EndsEarly), trials=1, out=tmp_path / "a", **SMALL)
    assert [trial.steps for trial in result.trials] == [50, 50]
    assert [row.ended_s for row in result.rows] == pytest.approx([50 / 30, 50 / 30])
    assert result.successes == [False]
    assert RunFolder(tmp_path / "a").trial(1, 2).steps == 50


def test_a_trial_that_the_plant_ended_early_is_kept_even_if_the_plant_cannot_be_stopped(tmp_path, task):
    class Unstoppable(EndsEarly):
        def stop(self):
            raise RuntimeError("port closed")

    with pytest.raises(vfpilco.PlantError, match="STOP THE MACHINE BY HAND"):
        vfpilco.learn(variant(task, plant=Unstoppable), trials=1, out=tmp_path / "a", **SMALL)
    assert RunFolder(tmp_path / "a").trial(0, 2).steps == 50


def test_a_plant_is_closed_after_use_if_it_can_be(task):
    closeable = variant(task, plant=Closeable)
    with pytest.raises(vfpilco.UserError, match="does not know its true state"):
        vfpilco.learn(closeable, trials=1, **{**SMALL, "state": FullState()})
    assert Closeable.closed == 1
    vfpilco.dry_run(closeable)
    assert Closeable.closed == 2


def test_the_sample_that_ends_a_trial_is_not_learned_from(task):
    trial = execute(dataclasses.replace(task, ends=lambda q: q[0] > 0.2), task.machine.plant(), lambda q: np.ones(1), 0)
    assert trial.ended == "the task's end was reached"
    assert trial.steps < 90
    assert np.all(trial.q[:, 0] <= 0.2)


def test_a_silent_plant_is_reported(task):
    class Silent(CartPole):
        def step(self, u):
            super().step(u)

    machine = variant(task, realtime=RealTime()).machine
    with pytest.raises(vfpilco.UserError, match="returned nothing at sample 1"):
        execute(task, Silent(machine.sampling_time, machine.sensor), zero, 0)
