"""Running an export as a stranger would, to see whether it does what the learned policy does."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.compiled import Program, compiler

Trials = list[np.ndarray]


class Answers(NamedTuple):
    """What an export answers to trials, each from a reset on."""

    inputs: Trials
    step_seconds: float | None = None
    """How long a step takes, where that is known."""


def run_c(folder: Path, trials: Trials) -> Answers:
    """Build it, and run the program."""
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as place:
        program = Program(folder, Path(place), compiler())
        return Answers(program.answers(trials), program.seconds(trials[0]))


def run_numpy(folder: Path, trials: Trials) -> Answers:
    """Load the file."""
    spec = importlib.util.spec_from_file_location("exported_policy", folder / "policy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Run without importing it: an import would leave compiled files in the folder.
    exec(compile((folder / "policy.py").read_text("utf-8"), "policy.py", "exec"), module.__dict__)
    policy, answers = module.Policy(), []
    for trial in trials:
        policy.reset()
        answers.append(np.array([policy.step(measured) for measured in trial]))
    return Answers(answers)


BEGINS = {"memory": np.nan, "applied": 0.0}
"""What is remembered between the steps of a model, in the order of its results, and with what it begins."""


def run_onnx(folder: Path, trials: Trials) -> Answers:
    """Run the model step by step, its memory going round."""
    runtime = onnx_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(folder / "policy.onnx"), options, providers=["CPUExecutionProvider"])
    given = {one.name: one for one in session.get_inputs()}
    kind = np.float32 if given["measured"].type == "tensor(float)" else np.float64
    begins, answers = {name: begin for name, begin in BEGINS.items() if name in given}, []
    for trial in trials:
        state, rows = {name: np.full((1, *given[name].shape[1:]), begin) for name, begin in begins.items()}, []
        for i, measured in enumerate(trial):
            feed = {"measured": measured[None].astype(kind), "sample": np.array([i]), **state}
            inputs, *after = session.run(None, {name: feed[name] for name in given})
            state = dict(zip(state, after, strict=True))
            rows.append(inputs[0])
        answers.append(np.array(rows, dtype=float))
    return Answers(answers)


def onnx_runtime() -> Any:
    """The package onnxruntime, if it is installed."""
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError("To check an export to ONNX onnxruntime is needed: pip install onnxruntime.") from error
    return onnxruntime
