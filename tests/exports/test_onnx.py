"""The interface of an export to ONNX."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from exports import LIMITS, exported, learned, motion, written
from vfpilco.exports import check as checking


def test_onnx_metadata_is_complete(tmp_path):
    model = onnx.load(written(exported(learned("low-pass", "rbf")), "onnx", tmp_path) / "policy.onnx")
    known = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert known["measured"][1] == {"name": "alpha", "unit": "rad", "angle": True}
    assert known["inputs"][1] == {"name": "turn", "unit": "rad", "limit": 0.07}
    assert known["rate_hz"] == pytest.approx(30)
    assert known["memory"] == {"last_measurements": 1, "filters": 3}
    assert known["learned"]["run"] == "runs/drawn"


def test_onnx_takes_a_window_of_positions_and_a_batch(tmp_path):
    one = exported(learned("differences", "linear-rbf"))
    session = onnxruntime.InferenceSession(str(written(one, "onnx", tmp_path) / "policy.onnx"))
    trial = motion(4)
    windows = np.array([trial[t - 3 : t][::-1] for t in range(3, 40)])
    inputs, memory = session.run(None, {"measured": trial[3:], "memory": windows})
    np.testing.assert_allclose(inputs / LIMITS, checking.answers(one, trial)[3:] / LIMITS, atol=1e-12)
    np.testing.assert_array_equal(memory[:, 1:], windows[:, :-1])


@pytest.mark.parametrize("slew", [0.0, 0.1])
def test_onnx_takes_the_last_inputs_only_with_a_slew_limit(slew, tmp_path):
    path = written(exported(learned("differences", "rbf", slew=slew)), "onnx", tmp_path) / "policy.onnx"
    session = onnxruntime.InferenceSession(str(path))
    state = ["memory", "applied"] if slew else ["memory"]
    assert [one.name for one in session.get_inputs()] == ["measured", *state]
    assert [one.name for one in session.get_outputs()] == ["inputs", *(f"new_{name}" for name in state)]
    known = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])[1]
    assert known == {"name": "turn", "unit": "rad", "limit": 0.07, **({"most_change": slew * 0.07} if slew else {})}


@pytest.mark.parametrize(("how", "past"), [("past input", 1), ("past inputs", 2)])
def test_onnx_takes_and_returns_the_past_inputs(how, past, tmp_path):
    one = exported(learned(how, "linear-rbf"))
    session = onnxruntime.InferenceSession(str(written(one, "onnx", tmp_path) / "policy.onnx"))
    assert [each.name for each in session.get_inputs()] == ["measured", "memory", "applied"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["memory"])["past_inputs"] == past
    trial, rows = motion(4), one.memory.rows
    applied = np.random.default_rng(0).uniform(-1, 1, (40, 2)) * LIMITS
    t = range(rows, 40)  # one batch of all samples
    windows = np.array([trial[i - rows : i][::-1] for i in t])
    before = np.array([applied[i - past : i][::-1] for i in t])
    feed = {"measured": trial[rows:], "memory": windows, "applied": before}
    inputs, _, after = session.run(None, feed)
    np.testing.assert_allclose(inputs / LIMITS, checking.answers(one, trial, applied)[rows:] / LIMITS, atol=1e-12)
    np.testing.assert_array_equal(after[:, 0], inputs)
    np.testing.assert_array_equal(after[:, 1:], before[:, :-1])
    invalid = {**feed, "measured": np.full_like(trial[rows:], np.nan)}
    inputs, _, after = session.run(None, invalid)
    assert np.all(inputs == 0)
    assert np.all(after[:, 0] == 0)
    np.testing.assert_array_equal(after[:, 1:], before[:, :-1])


def test_onnx_corrects_invalid_last_inputs(tmp_path):
    path = written(exported(learned("differences", "rbf", slew=0.01)), "onnx", tmp_path) / "policy.onnx"
    given = np.array([[0, 0], [np.nan, np.nan], [1, 1], [1e9, np.inf], [-1, -1], [-1e9, -np.inf]]) * LIMITS
    feed = {"measured": np.repeat(motion(4)[:1], 6, axis=0), "memory": np.full((6, 3, 2), np.nan), "applied": given}
    inputs, _, applied = onnxruntime.InferenceSession(str(path)).run(None, feed)
    np.testing.assert_array_equal(inputs, applied)
    np.testing.assert_array_equal(inputs[::2], inputs[1::2])
    np.testing.assert_allclose(inputs[2::2] / LIMITS, [[0.99, 0.99], [-0.99, -0.99]])
