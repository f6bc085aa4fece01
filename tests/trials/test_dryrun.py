"""Testing a plant without driving it."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from variants import variant

import vfpilco
from vfpilco.cli.main import main
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.policy.limits import InputLimits
from vfpilco.trials.dryrun import dry_run


def test_a_dry_run_applies_no_input_and_reports_what_was_measured(task, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    applied, machine = [], task.machine

    class Rig(CartPole):
        def step(self, u):
            applied.append(u)
            return super().step(u)

    tried = dry_run(variant(task, plant=lambda: Rig(machine.sampling_time, machine.sensor)))
    assert np.all(np.array(applied) == 0)
    assert tried.samples == 90
    assert tried.positions["p"].noise == pytest.approx(machine.sensor.std[0], rel=0.3)
    assert 0 < tried.explores[machine.inputs[0].name] <= 1
    assert any("faster than real time" in sentence for sentence in tried.sentences())
    assert main(["learn", "cartpole", "--dry-run"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_dry_run_reports_why_it_ended_and_how_gentle_an_exploration_would_be(task, capsys):
    seen = []
    drifting = dataclasses.replace(task, ends=lambda q: seen.append(q) or len(seen) in (10, 11))
    tried = dry_run(drifting, InputLimits(gentle=0.2, slew=0.1))
    assert "of 90 samples: the task's end was reached." in tried.problems[0]
    assert 0 < tried.explores["force"] <= 0.2
    assert main(["learn", "cartpole", "--dry-run", "--gentle", "0.2"]) == 0
    output = capsys.readouterr().out
    assert "will go up to 20% of its limit" in output
    assert "It responds as expected" in output
    lost = dataclasses.replace(task, start=vfpilco.GaussianStart((0.0, 3.1), (0.01, 0.01)))
    assert "It started with alpha" in dry_run(lost).problems[0]


def test_a_dry_run_as_json(capsys):
    assert main(["learn", "cartpole", "--dry-run", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["samples"] == output["wanted_samples"] == 90
    assert output["problems"] == []
    assert set(output["positions"]) == {"p", "alpha"}
