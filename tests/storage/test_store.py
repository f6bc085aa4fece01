"""A run without a folder gives the same result as one with a folder."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from folders import TINY

import vfpilco
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.scenes import SCENES
from vfpilco.storage.store import MODEL, PREDICTION, Store


@pytest.fixture(scope="module")
def results(tmp_path_factory, task):
    out = tmp_path_factory.mktemp("runs") / "a"
    machine = dataclasses.replace(task.machine, drawing=vfpilco.Drawing(task.machine.drawing.scene))
    own = dataclasses.replace(task, machine=machine)
    return vfpilco.learn(own, **TINY), vfpilco.learn(own, out=out, **TINY), RunFolder(out)


def assert_same(one, other) -> None:
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_the_results_are_the_same(results):
    without, with_folder, folder = results
    assert without.rows == with_folder.rows == folder.results()
    assert [row.kind for row in without.rows] == ["explore", "policy"]
    for one, other in zip(without.trials, with_folder.trials, strict=True):
        for name in ("q", "u", "true", "velocity"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_policy_and_model_are_the_same_and_are_kept_in_the_folder(results):
    without, with_folder, folder = results
    for other in (with_folder.policy, folder.policy(), folder.policy(1)):
        assert_same(without.policy.params, other.params)
        assert without.policy.policy == other.policy
    for other in (with_folder.model, folder.artifact(MODEL, 1)[0]):
        assert_same(without.model.hyperparameters, other.hyperparameters)
        assert_same(without.model.posterior, other.posterior)
        assert without.model.kernel == other.kernel
        assert without.model.score == pytest.approx(other.score)
    prediction, notes = folder.artifact(PREDICTION, 1)
    assert notes == []
    band = without.rows[1].predicted_cost
    assert prediction.cost.sum(0).mean() == pytest.approx(band.mean, rel=1e-6)


def test_a_drawing_that_is_not_built_in_is_kept_with_every_execution(results):
    _, _, folder = results
    assert folder.header().drawing is None
    others = 2 * TINY["particles"] - 2  # all that predict the trial but the cheapest and the most expensive one
    assert [len(folder.artifact(SCENES, i)[0].predicted) for i in (0, 1)] == [0, 1 + others]


def test_a_store_keeps_nothing(task):
    store = Store()
    store.save(MODEL, 1, None, [])  # pyright: ignore
    store.save_checkpoint({}, 1, [])
    assert store.load(MODEL, 1) is None
    assert store.load_policy(1) is None
    assert store.load_checkpoint() is None
    assert store.finished_trial(0, task, lambda trial: trial) is None
    log = store.open_log(0, task)
    log.add(0, np.zeros(2), None, [])
    log.close()
