"""Running an export the way its user would, to compare it with the learned policy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.compiled import Program, compiler
from vfpilco.plants.fmu import library

Trials = list[np.ndarray]


class Answers(NamedTuple):
    """What an export returns for trials, reset before each."""

    inputs: Trials
    step_seconds: float | None = None
    """The duration of a step, if it was measured."""


def run_c(folder: Path, trials: Trials) -> Answers:
    """Compile the export and run the program."""
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as place:
        program = Program(folder, Path(place), compiler())
        return Answers(program.answers(trials), program.seconds(trials[0]))


def run_arduino(folder: Path, trials: Trials) -> Answers:
    """Compile the source of the library for this computer and run it; the duration of a step is another on a board."""
    return Answers(run_c(folder / "src", trials).inputs)


def run_fmu(folder: Path, trials: Trials) -> Answers:
    """Run the FMU with FMPy: set the measurements, get the inputs, and step to the next sample."""
    fmpy = library()
    (file,) = folder.glob("*.fmu")
    description = fmpy.read_model_description(str(file))
    reals = [v for v in description.modelVariables if v.type == "Real"]
    measured, applied = ([v.valueReference for v in reals if v.causality == what] for what in ("input", "output"))
    sampling_time, answers = description.defaultExperiment.stepSize, []
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as place:
        fmpy.extract(str(file), place)
        fmu = fmpy.instantiate_fmu(place, description, "CoSimulation")
        for i, trial in enumerate(trials):
            if i:
                fmu.reset()
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            rows = []
            for sample, values in enumerate(trial):
                fmu.setReal(measured, values.tolist())
                rows.append(fmu.getReal(applied))
                fmu.doStep(sample * float(sampling_time), float(sampling_time))
            answers.append(np.array(rows, dtype=float))
        fmu.terminate()
        fmu.freeInstance()
    return Answers(answers)


def run_numpy(folder: Path, trials: Trials) -> Answers:
    """Run the Python file."""
    return run_source((folder / "policy.py").read_text("utf-8"), trials)


def run_source(source: str, trials: Trials) -> Answers:
    """Run the content of a policy.py; an import would leave compiled files in its folder."""
    module: dict[str, Any] = {"__name__": "exported_policy"}
    exec(compile(source, "policy.py", "exec"), module)
    policy, answers = module["Policy"](), []
    for trial in trials:
        policy.reset()
        answers.append(np.array([policy.step(measured) for measured in trial]))
    return Answers(answers)


STARTS = {"memory": np.nan, "applied": 0.0}
"""The state between the steps of a model, in the order of its results, and its value at the start."""


def run_onnx(folder: Path, trials: Trials) -> Answers:
    """Run the model step by step, feeding its memory and its last inputs back."""
    runtime = onnx_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(folder / "policy.onnx"), options, providers=["CPUExecutionProvider"])
    needed = {one.name: one for one in session.get_inputs()}
    kind = np.float32 if needed["measured"].type == "tensor(float)" else np.float64
    starts, answers = {name: start for name, start in STARTS.items() if name in needed}, []
    for trial in trials:
        state, rows = {name: np.full((1, *needed[name].shape[1:]), start) for name, start in starts.items()}, []
        for i, measured in enumerate(trial):
            feed = {"measured": measured[None].astype(kind), "sample": np.array([i]), **state}
            inputs, *after = session.run(None, {name: feed[name] for name in needed})
            state = dict(zip(state, after, strict=True))
            rows.append(inputs[0])
        answers.append(np.array(rows, dtype=float))
    return Answers(answers)


def onnx_runtime() -> Any:
    """The package onnxruntime; a `UserError` if it is not installed."""
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError("Checking an export to ONNX needs the package onnxruntime: pip install onnxruntime.") from error
    return onnxruntime
