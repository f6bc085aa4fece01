"""The script that shows how clearly the data of a run speak for a kernel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import vfpilco
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.model.kernels import Friction, Linear
from vfpilco.trials.choosing import MARGIN
from vfpilco.trials.plan import Plan
from vfpilco.trials.result import RunResult
from vfpilco.trials.settings import Settings

ROOT = Path(__file__).parents[2]
SENSOR = vfpilco.GaussianNoise((1e-4,))
KERNELS = (Linear(on=("rates", "inputs")), Linear(on=("rates", "inputs")) + Friction(on=("rates",)))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "examples/evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def slide(friction: float) -> Trial:
    """A mass of 1 kg that is pushed about on a rail with dry friction, in N."""
    rng, x, v, positions = np.random.default_rng(0), 0.0, 0.0, [0.0]
    pushes = 4 * np.sin(np.arange(120) * rng.uniform(0.1, 0.3)) + rng.normal(size=120)
    for push in pushes:
        for _ in range(50):
            v += 1e-3 * (push - friction * np.tanh(v / 1e-3))
            x += 1e-3 * v
        positions.append(x)
    q = np.array(positions)[:, None]
    return Trial(q + 1e-4 * rng.normal(size=q.shape), pushes[:, None], 0.05)


def run(trial: Trial) -> vfpilco.Result:
    task = vfpilco.Task(
        name="slider",
        summary="a mass on a rail",
        machine=vfpilco.Machine(
            plant=None,
            positions=(vfpilco.Position("x", "m"),),
            inputs=(vfpilco.Input("force", "N", limit=6.0),),
            sampling_time=0.05,
            sensor=SENSOR,
        ),
        horizon=120,
        cost=lambda q: q[..., 0] ** 2,
        start=vfpilco.GaussianStart((0.0,), (1e-3,)),
        success=lambda q: False,
    )
    explored = TrialResult(cost=1.0, success=False, kind="explore", file="", experience_s=0.0)
    return vfpilco.Result.of(RunResult(Plan(task, Settings()), [trial], [explored]))


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_friction_is_found_where_there_is_some(script, monkeypatch, friction):
    monkeypatch.setattr(script, "KERNELS", KERNELS)
    monkeypatch.setattr(script, "MEMORIES", (2, 3))
    rows = script.table(run(slide(friction)))
    assert [name for name, _ in rows] == [
        "linear(rates, inputs)",
        "linear(rates, inputs) + friction(rates)",
        "m_q = 3, with the best kernel",
    ]
    without, with_it = rows[0][1], rows[1][1]
    assert with_it - without > 5 * MARGIN if friction else with_it - without < MARGIN
