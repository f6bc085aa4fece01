"""Single absurd samples: found in logs and trials, refused or not learned from, and never seen where there are none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from folders import TINY
from variants import variant

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.machines.load import load, names
from vfpilco.model.fit import fit
from vfpilco.policy.preparation import policy_inputs
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.logs import read_log, read_recordings
from vfpilco.recordings.spikes import spikes
from vfpilco.recordings.trials import faults, jumps
from vfpilco.storage.trialfile import trial_to_csv
from vfpilco.trials.execute import execute

COLUMNS = ["p", "alpha", "force"]
EXAMPLES = sorted((Path(__file__).parents[2] / "examples/machines").glob("*.py"))
SIZES = [9e8, -1e3, 20.0]


def with_spike(trial, at, value, position=0):
    q = trial.q.copy()
    q[at, position] = value
    return dataclasses.replace(trial, q=q, true=None, velocity=None)


# -- what is a spike ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", SIZES)
@pytest.mark.parametrize("at", [[0], [1], [40], [40, 41], [89], [90]])
def test_one_or_two_absurd_samples_are_found(explore, at, value):
    found = np.flatnonzero(spikes(with_spike(explore(0), at, value).q[:, 0]))
    assert found.tolist() == ([] if at in ([0], [90]) and value == 20 else at)


def test_several_spikes_are_found(explore):
    q = with_spike(explore(0), [5, 20, 33, 70, 71], 50.0).q[:, 0]
    assert np.flatnonzero(spikes(q)).tolist() == [5, 20, 33, 70, 71]


def test_a_spike_of_an_angle_is_found_where_it_does_not_wrap(explore):
    slow = 0.01 * np.sin(0.2 * np.arange(60)) + np.pi  # crosses the place where a raw angle wraps
    raw = np.arctan2(np.sin(slow), np.cos(slow))
    assert not spikes(raw, angle=True).any()
    raw[30] += 1.5
    assert np.flatnonzero(spikes(raw, angle=True)).tolist() == [30]
    raw[30] = 1e6
    assert np.flatnonzero(spikes(raw, angle=True)).tolist() == [30]


def test_missing_values_are_skipped(explore):
    q = with_spike(explore(0), [40], 1e3).q[:, 0]
    q[[10, 39]] = np.nan
    assert np.flatnonzero(spikes(q)).tolist() == [40]
    assert not spikes(np.full(20, np.nan)).any()


@pytest.mark.parametrize(
    "q",
    [
        np.zeros(50),
        np.repeat([0.0, 0.001], [49, 1]),  # the last step of an encoder
        np.where(np.arange(60) % 17 == 3, 0.001, 0.0),  # an encoder between two steps
        np.where(np.arange(60) == 30, 0.001, 0.0),
        np.repeat([0.0, 5.0], 25),  # moved by hand, while it was not measured
        np.abs(np.linspace(-1, 1, 41)),  # bounces off a stop
        np.where(np.arange(80) < 40, 0.0, np.sin(2.5 * np.arange(80))),  # fast, after a rest
        np.cumsum(np.where(np.arange(90) % 30 == 0, 1.0, 0.0)),  # a stepper
        np.concatenate([np.zeros(30), 0.5 ** np.arange(10)]),  # released
    ],
)
def test_motion_is_no_spike(q):
    for scale in (1.0, 1e-6, 1e6):
        assert not spikes(scale * q).any()
        assert not spikes(scale * q, angle=True).any()


def test_noise_is_no_spike():
    rng = np.random.default_rng(0)
    for _ in range(300):
        assert not spikes(rng.standard_normal(200)).any()
        assert not spikes(np.round(rng.standard_normal(200))).any()
        assert not spikes(np.cumsum(rng.standard_normal(200))).any()


def policy_like(task, seed):
    """Inputs as of a policy: switching between limits, and following what is measured."""
    rng, limits = np.random.default_rng(seed), task.machine.limits
    gain, seen = rng.standard_normal((len(limits), len(task.machine.positions))), []

    def control(q):
        seen.append(q)
        speed = seen[-1] - seen[max(len(seen) - 2, 0)]
        return limits * np.sign(gain @ (q + 5 * speed)) if seed % 2 else np.clip(3 * gain @ q, -limits, limits)

    return control


@pytest.mark.parametrize("machine", [*names(), *EXAMPLES], ids=str)
def test_no_machine_raises_a_false_alarm(machine):
    task = load(str(machine))
    plant = task.machine.plant() if callable(task.machine.plant) else pytest.skip("its plant is elsewhere")
    for seed in range(100, 105):
        for control in (task.explorer(seed, 0), policy_like(task, seed)):
            assert not jumps(execute(task, plant, control, seed), task)


# -- logs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path, task, explore) -> Path:
    trial = with_spike(explore(0), [40], 1e3)
    (tmp_path / "log.csv").write_text(trial_to_csv(trial.q, trial.u, trial.sampling_time, COLUMNS))
    return tmp_path / "log.csv"


def test_a_log_with_a_spike_is_refused_with_its_line(log, task, tmp_path, capsys):
    trial, findings = read_log(log, task)
    assert trial is None
    assert [(f.kind, f.severity, f.line, f.column) for f in findings] == [("spike", "error", 42, "p")]
    assert main(["inspect", str(log), "--task", "cartpole"]) == 2
    assert "p jumps to 1000 and back" in " ".join(capsys.readouterr().out.split())
    assert main(["tell", str(tmp_path / "run"), str(log), "--task", "cartpole"]) == 2
    assert "line 42: p jumps to 1000 and back" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_a_log_is_cut_at_a_spike(log, task):
    parts = read_recordings(log, Channels.of(task), split=True)
    assert [len(part.q) for part in parts] == [40, 50]
    assert all(f.severity != "error" for part in parts for f in part.findings)


def test_a_commanded_position_may_jump(task, explore):
    commanded = dataclasses.replace(task.machine.positions[0], commanded="force")
    machine = dataclasses.replace(task.machine, positions=(commanded, task.machine.positions[1]))
    trial = with_spike(explore(0), [40], 20.0)
    assert jumps(trial, task)
    assert not jumps(trial, dataclasses.replace(task, machine=machine))


def test_a_trial_with_a_spike_is_not_added_to_a_run(tmp_path, task, explore):
    with pytest.raises(UserError, match=r"p jumps to 1000 m and back at sample 40: check the sensor"):
        vfpilco.tell(tmp_path / "run", task, [with_spike(explore(0), [40], 1e3)])
    assert not (tmp_path / "run").exists()


# -- trials ------------------------------------------------------------------------------------------------------


def test_a_spike_is_not_learned_from(dynamics, task, explore):
    sound = explore(0)
    faulty = with_spike(sound, [40, 41], 9e8)
    assert [fault.split(":")[0] for fault in faults(faulty, task)] == [
        "p jumps to 9e+08 m and back at sample 40 (and at 1 other sample)"
    ]
    data, whole = dynamics.training_set(faulty), dynamics.training_set(sound)
    assert len(whole.x) - len(data.x) == 5  # those that start, pass or end there
    assert np.abs(data.y).max() < 1
    noise, clean = (np.exp(fit(one).hyperparameters.log_noise) * one.y.std(0) for one in (data, whole))
    np.testing.assert_allclose(noise, clean, rtol=0.3)
    units = [policy_inputs(dynamics.state, task, [trial]).scale for trial in (faulty, sound)]
    np.testing.assert_allclose(*units, rtol=0.1)


class Glitch(CartPole):
    """Measures one absurd position in every trial."""

    samples = 0

    def reset(self, seed):
        self.samples = 0
        return super().reset(seed)

    def step(self, u):
        self.samples += 1
        q = super().step(u)
        return q + np.array([1e3, 0.0]) if self.samples == 40 else q


def test_a_live_trial_with_a_spike_is_reported_and_the_run_continues(task):
    machine = task.machine
    glitch = variant(task, plant=lambda: Glitch(machine.sampling_time, machine.sensor))
    result = vfpilco.learn(glitch, **TINY)
    for row in result.rows:
        assert [note for note in row.notes if "CHECK THE MEASUREMENTS: p jumps to 1" in note], row
    assert result.model is not None
    assert result.model.points < 2 * machine.sampling_time**-1 * 3
