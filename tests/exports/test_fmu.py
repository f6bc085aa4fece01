"""Policies as FMUs, run by FMPy."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import fmpy
import fmpy.validation
import numpy as np
import pytest

from exports import LIMITS, H, exported, learned, motion, need, written
from vfpilco.exports import check as checking
from vfpilco.exports.runners import run_fmu

KINDS = [("kalman", "linear-rbf", True, 0.2), ("full state", "mlp", False, 0.0), ("past inputs", "rbf", False, 0.2)]


@pytest.fixture(scope="module")
def one():
    need("cc")
    return dataclasses.replace(exported(learned("differences", "rbf")), prefix="cart")


@pytest.fixture(scope="module")
def file(one, tmp_path_factory) -> Path:
    return written(one, "fmu", tmp_path_factory.mktemp("fmu")) / "cart_policy.fmu"


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize(("how", "kind", "follows", "slew"), KINDS)
def test_an_fmu_agrees_with_the_learned_policy(how, kind, follows, slew, precision, tmp_path):
    policy = exported(learned(how, kind, follows=follows, slew=slew))
    trials = [trial.astype(np.float32).astype(float) for trial in checking.histories(policy, 150)]
    found = run_fmu(written(policy, "fmu", tmp_path, precision), trials).inputs
    allowed = 1e-12 if precision == "double" else 1e-4
    for inputs, trial in zip(found, trials, strict=True):
        due = checking.answers(policy, trial, inputs)
        np.testing.assert_allclose(inputs / LIMITS, due / LIMITS, atol=allowed)


def test_the_fmu_is_valid_and_describes_its_variables(file):
    assert fmpy.validation.validate_fmu(str(file)) == []
    description = fmpy.read_model_description(str(file))
    listed = [(v.name, v.causality, v.unit) for v in description.modelVariables]
    assert listed[:3] == [("p", "input", "m"), ("alpha", "input", "rad"), ("force", "output", "N")]
    assert listed[3:] == [("turn", "output", "rad"), ("valid", "output", None)]
    assert float(description.modelVariables[2].max) == LIMITS[0]
    assert description.defaultExperiment.stepSize == repr(H) or float(description.defaultExperiment.stepSize) == H
    assert {"c-code", "linux64"} <= set(fmpy.supported_platforms(str(file)))


class Running:
    """An FMU after its initialisation."""

    def __init__(self, file: Path, place: Path) -> None:
        fmpy.extract(str(file), str(place))
        description = fmpy.read_model_description(str(file))
        self.fmu = fmpy.instantiate_fmu(str(place), description, "CoSimulation")
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def get(self) -> np.ndarray:
        return np.array(self.fmu.getReal([2, 3]))

    def set(self, q: np.ndarray) -> None:
        self.fmu.setReal([0, 1], q.tolist())


def test_outputs_are_held_during_shorter_steps(one, file, tmp_path):
    running, trial = Running(file, tmp_path), motion(2)[:12]
    due, time = checking.answers(one, trial), 0.0
    for q, u in zip(trial, due, strict=True):
        for part in range(5):
            running.set(q + part)  # between the sampling instants measurements do not matter
            np.testing.assert_allclose(running.get() / LIMITS, u / LIMITS, atol=1e-12)
            running.fmu.doStep(time, H / 5)
            np.testing.assert_allclose(running.get() / LIMITS, u / LIMITS, atol=1e-12)
            time += H / 5


def test_measurements_may_be_set_again_and_the_last_ones_count(one, file, tmp_path):
    running, trial = Running(file, tmp_path), motion(2)[:8]
    found = []
    for i, q in enumerate(trial):
        running.set(q + 1)
        assert np.all(np.isfinite(running.get()))
        running.set(q)
        found.append(running.get())
        running.fmu.doStep(i * H, H)
    np.testing.assert_allclose(found / np.array(LIMITS), checking.answers(one, trial) / LIMITS, atol=1e-12)


def test_an_invalid_measurement_and_a_step_that_is_too_long(file, tmp_path):
    running = Running(file, tmp_path)
    running.set(np.array([np.nan, 0.0]))
    assert np.all(running.get() == 0)
    assert running.fmu.getBoolean([0]) == [0]
    running.set(np.array([0.1, 0.2]))
    assert np.all(running.get() != 0)
    assert running.fmu.getBoolean([0]) == [1]
    with pytest.raises(Exception, match="fmi2DoStep failed with status 3"):
        running.fmu.doStep(0.0, 2 * H)
