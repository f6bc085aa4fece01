"""Runs of machines with safe ranges: the risk is predicted, shown and kept."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest
from folders import SIZES
from rich.console import Console
from variants import variant

import vfpilco
from vfpilco.data.watcher import Watcher, Watchers
from vfpilco.interactive.terminal import Display
from vfpilco.rollout.risk import risk_of
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import PREDICTION
from vfpilco.tasks.task import Task

SMALL = {"steps": 4, **SIZES}


def on_a_rail(half: float, **changes) -> Task:
    """The cart-pole on a rail."""
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.machine.positions[0], safe=(-half, half))
    return variant(base, positions=(cart, base.machine.positions[1]), **changes)


class Recorder(Watcher):
    def __init__(self):
        self.notes, self.forecasts = [], []

    def predicted(self, trial, forecast):
        self.forecasts.append((trial, forecast))

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out, watch = tmp_path_factory.mktemp("rail") / "run", Recorder()
    text = io.StringIO()
    with Display(Console(file=text, width=200), 1) as display:
        result = vfpilco.learn(on_a_rail(0.4), seed=1, trials=1, out=out, watch=Watchers(watch, display), **SMALL)
    return result, RunFolder(out), watch, text.getvalue()


def test_the_risk_is_known_before_a_trial_and_kept_with_it(run):
    result, folder, watch, shown = run
    row, machine = folder.results()[-1], result.task.machine
    predicted, _ = folder.artifact(PREDICTION, 1)
    assert row.risk == risk_of(predicted, machine.positions, machine.inputs, machine.sampling_time)
    assert row.risk.leaving == np.mean(np.abs(predicted.q[..., 0]).max(0) > 0.4)
    assert [(trial, forecast.risk) for trial, forecast in watch.forecasts] == [(1, row.risk)]
    assert row.risk.words.startswith("leaving p ")
    assert row.risk.words in " ".join(shown.split())
    assert result.rows[-1].risk == row.risk
    assert "risk" in str(result)


def test_rows_without_a_risk_can_be_read(run):
    _, folder, _, _ = run
    line = json.loads((folder.path / "results.jsonl").read_text().splitlines()[0])
    assert "risk" not in line
    assert folder.results()[0].risk is None
