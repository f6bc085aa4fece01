"""A policy as an ONNX model of one step: measurement and memory in, inputs and the new memory out."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from vfpilco.exports.exported import Exported
from vfpilco.exports.onnx_graph import Graph, library
from vfpilco.exports.templates import LARGEST
from vfpilco.exports.text import DTYPES, Precision, inward, rounded
from vfpilco.policy.layers import Basis, Dense

OPSET, IR_VERSION = 17, 8
"""Old enough for the runtimes of recent years."""


def files(exported: Exported, precision: Precision) -> dict[str, bytes]:
    """The file."""
    onnx = library()
    graph = Graph(onnx, precision)
    _fill(graph, exported)
    model = onnx.helper.make_model(
        graph.finish(exported),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="vfpilco",
        producer_version=version("vfpilco"),
    )
    onnx.helper.set_model_props(model, metadata(exported))
    onnx.checker.check_model(model, full_check=True)
    return {"policy.onnx": model.SerializeToString(deterministic=True)}


def metadata(exported: Exported) -> dict[str, str]:
    """What a program has to know about the model, as JSON."""
    memory = exported.memory
    bounds = {"limit": exported.limits, **({} if exported.slew is None else {"most_change": exported.slew})}
    past = {"past_inputs": memory.past_inputs} if memory.past_inputs else {}
    described = {
        "measured": [{**q._asdict(), "angle": a} for q, a in zip(exported.measures, memory.turning, strict=True)],
        "inputs": [
            {**q._asdict(), **{name: float(values[i]) for name, values in bounds.items()}}
            for i, q in enumerate(exported.inputs)
        ],
        "sampling_time_s": exported.sampling_time,
        "rate_hz": 1 / exported.sampling_time,
        "memory": {"last_measurements": memory.window, "filters": memory.filters, **past},
        "reference_samples": 0 if exported.reference is None else len(exported.reference),
        "learned": exported.origin.as_json(),
    }
    return {name: json.dumps(value) for name, value in described.items()}


# -- the graph ---------------------------------------------------------------------------------------------------


def _fill(graph: Graph, exported: Exported) -> None:
    """One step: unwrap angles, update the memory, and compute x*, y and the inputs."""
    z = graph.cast("measured", np.float64)
    measured = graph.every(graph.add("LessOrEqual", graph.add("Abs", z), np.array(LARGEST)), [1])
    last = graph.add("Gather", "memory", np.array(0), axis=1)
    z = _unwrapped(graph, exported, z, last)
    updated = _update(graph, exported, z)
    before = _before(graph, exported) if exported.memory.past_inputs else ""
    y = _unlimited(graph, exported, _policy_input(graph, exported, updated, before, z))
    real = DTYPES[graph.precision]
    finite = graph.every(graph.add("LessOrEqual", graph.add("Abs", y), np.array(np.finfo(real).max, real)), [1])
    limits = inward(exported.limits, graph.precision)
    u = graph.add("Mul", graph.add("Tanh", graph.add("Div", y, limits)), limits)
    u = graph.add("Min", graph.add("Max", u, -limits), limits)
    valid = graph.add("And", measured, finite)
    if before:
        _remember(graph, exported, u, valid, before)
    else:
        _apply(graph, exported, u, valid)
    # After an invalid measurement the last valid one is kept, to unwrap angles; NaN below it starts the rest again.
    below = np.arange(exported.memory.rows)[None, :, None] > 0
    kept = graph.add("Where", below, np.full((1, 1, 1), np.nan), "memory")
    graph.add("Where", graph.add("Unsqueeze", measured, np.array([2])), updated, kept, result="new_memory")


def _apply(graph: Graph, exported: Exported, u: str, valid: str) -> None:
    """The inputs: u within the slew limit, if there is one; zero where u is not valid."""
    real = DTYPES[graph.precision]
    if exported.slew is None:
        graph.add("Where", valid, u, np.zeros((1, 1), real), result="inputs")
        return
    slewed = _slewed(graph, exported, u, _before(graph, exported))
    graph.add("Where", valid, slewed, np.zeros((1, 1)), result="new_applied")
    graph.cast("new_applied", real, result="inputs")


def _remember(graph: Graph, exported: Exported, u: str, valid: str, before: str) -> None:
    """The same for a policy that sees past inputs, which are kept, newest first."""
    if exported.slew is None:
        u = graph.cast(u, np.float64)
    else:
        u = _slewed(graph, exported, u, graph.add("Gather", before, np.array(0), axis=1))
    u = graph.add("Where", valid, u, np.zeros((1, 1)))
    graph.cast(u, DTYPES[graph.precision], result="inputs")
    rows, past = [graph.add("Unsqueeze", u, np.array([1]))], exported.memory.past_inputs
    rows += [graph.cut(before, 0, past - 1)] if past > 1 else []
    graph.add("Concat", *rows, axis=1, result="new_applied")


def _before(graph: Graph, exported: Exported) -> str:
    """The past inputs: within their limits, zero instead of NaN, because the caller may pass anything."""
    limits = inward(exported.limits, graph.precision).astype(float)
    before = graph.add("Where", graph.add("IsNaN", "applied"), np.zeros((1, 1)), "applied")
    return graph.add("Min", graph.add("Max", before, -limits), limits)


def _slewed(graph: Graph, exported: Exported, u: str, before: str) -> str:
    """The inputs nearest to u within the slew limit, in double."""
    assert exported.slew is not None
    low, high = graph.add("Sub", before, exported.slew), graph.add("Add", before, exported.slew)
    return graph.add("Min", graph.add("Max", graph.cast(u, np.float64), low), high)


def _unwrapped(graph: Graph, exported: Exported, z: str, last: str) -> str:
    """Measurements with angles shifted by full turns to within half a turn of the last ones, if there are any."""
    turn = np.array(2 * np.pi)
    turns = graph.add("Round", graph.add("Div", graph.add("Sub", z, last), turn))
    turning = np.array(exported.memory.turning)
    known = graph.add("Not", graph.add("IsNaN", last))
    turns = graph.add("Where", graph.add("And", known, turning), turns, np.zeros((1, 1)))
    return graph.add("Sub", z, graph.add("Mul", turns, turn))


def _update(graph: Graph, exported: Exported, z: str) -> str:
    """The memory one sample later; one that contains NaN starts at rest."""
    memory = exported.memory
    newest = graph.add("Unsqueeze", z, np.array([1]))
    rows = [newest, *[graph.cut("memory", 0, memory.window - 1)] * (memory.window > 1)]
    if memory.filters:
        before = graph.cut("memory", memory.window, memory.rows)
        products = graph.add("Mul", graph.add("Unsqueeze", before, np.array([1])), memory.a.transpose(1, 2, 0)[None])
        filtered = graph.add("ReduceSum", products, np.array([2]), keepdims=0)
        rows.append(graph.add("Add", filtered, graph.add("Mul", newest, memory.b.T[None])))
    pushed = graph.add("Concat", *rows, axis=1)
    at_rest = graph.add("Mul", newest, memory.start[None, :, None])
    known = graph.every(graph.add("Not", graph.add("IsNaN", "memory")), [1, 2])
    return graph.add("Where", known, pushed, at_rest)


def _policy_input(graph: Graph, exported: Exported, updated: str, before: str, z: str) -> str:
    """x*: differences of numbers in the memory, some as sine or cosine, past inputs, errors from a reference."""
    memory, reference = exported.memory, exported.reference
    size, d_u = memory.rows * memory.columns, len(exported.inputs)
    chosen = np.zeros((memory.rows, memory.columns, len(memory.entries)))
    applied = np.zeros((memory.past_inputs, d_u, len(memory.entries)))
    for k, entry in enumerate(memory.entries):
        (applied if entry.applied else chosen)[entry.row, entry.column, k] = 1
        if entry.less is not None:
            chosen[entry.less, entry.column, k] = -1
    flat = graph.add("Reshape", updated, np.array([-1, size]))
    if before:
        past = graph.add("Reshape", before, np.array([-1, memory.past_inputs * d_u]))
        flat = graph.add("Concat", flat, past, axis=1)
    both = np.concatenate([table.reshape(-1, len(memory.entries)) for table in (chosen, applied)])
    x = graph.add("MatMul", flat, both)
    # A cosine is a shifted sine: not every runtime supports cosines in double.
    shift = np.array([[np.pi / 2 if entry.of == "cos" else 0.0 for entry in memory.entries]])
    circle = np.array([[entry.of != "" for entry in memory.entries]])
    x = graph.add("Where", circle, graph.add("Sin", graph.add("Add", x, shift)), x)
    if reference is not None:
        sample = graph.add("Max", graph.add("Min", "sample", np.array(len(reference) - 1)), np.array(0))
        errors = graph.add("Sub", graph.add("Gather", reference, sample), graph.cut(z, 0, reference.shape[1]))
        x = graph.add("Concat", x, errors, axis=1)
    return graph.cast(x, DTYPES[graph.precision])


def _unlimited(graph: Graph, exported: Exported, x: str) -> str:
    """The sum of the chains."""
    ends = []
    for chain in exported.chains:
        given = x
        for layer in chain:
            arrays = {what: rounded(values, graph.precision) for what, values in layer.arrays.items()}
            given = LAYERS[type(layer)](graph, layer, arrays, given)
        ends.append(given)
    return graph.add("Sum", *ends)


def _basis(graph: Graph, layer: Basis, arrays: dict[str, np.ndarray], x: str) -> str:
    scaled = graph.add("Unsqueeze", graph.add("Mul", x, arrays["scale"]), np.array([1]))
    away = graph.add("Sub", scaled, arrays["centers"][None])
    distance = graph.add("ReduceSum", graph.add("Mul", away, away), np.array([2]), keepdims=0)
    return graph.add("MatMul", graph.add("Exp", graph.add("Neg", distance)), arrays["weights"])


def _dense(graph: Graph, layer: Dense, arrays: dict[str, np.ndarray], x: str) -> str:
    y = graph.add("Add", graph.add("MatMul", x, arrays["weights"]), arrays["bias"])
    return graph.add("Tanh", y) if layer.squash else y


LAYERS: dict[type, Callable[..., str]] = {Basis: _basis, Dense: _dense}
"""The nodes of a layer of each kind."""
