"""A graph of ONNX operators, built node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.exported import Exported
from vfpilco.exports.text import DTYPES, Precision


def library() -> Any:
    """The package onnx; a `UserError` if it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise UserError("Exporting to ONNX needs the package onnx: pip install 'vfpilco[onnx]'.") from error
    return onnx


class Graph:
    """Nodes and constants in the order of their creation; `add` takes names and arrays, and returns a name."""

    def __init__(self, onnx: Any, precision: Precision) -> None:
        self.onnx = onnx
        self.precision: Precision = precision
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *operands: str | np.ndarray, result: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its result."""
        names = [one if isinstance(one, str) else self.constant(one) for one in operands]
        result = result or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def constant(self, values: np.ndarray) -> str:
        """Add an array and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def cast(self, name: str, kind: Any, result: str = "") -> str:
        """Convert to another type."""
        return self.add("Cast", name, result=result, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def cut(self, name: str, first: int, end: int) -> str:
        """Take a part of the first axis after the batch."""
        return self.add("Slice", name, np.array([first]), np.array([end]), np.array([1]))

    def every(self, truth: str, axes: list[int]) -> str:
        """Whether everything along these axes is true; the axes are kept."""
        return self.cast(self.add("ReduceMin", self.cast(truth, np.int32), axes=axes, keepdims=1), bool)

    def finish(self, exported: Exported) -> Any:
        """The graph with its inputs and outputs."""
        describe, memory = self.onnx.helper.make_tensor_value_info, exported.memory
        real = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[self.precision]))
        double, integer = self.onnx.TensorProto.DOUBLE, self.onnx.TensorProto.INT64
        applied = ["batch", len(exported.inputs)]
        state = {"memory": ["batch", memory.rows, memory.columns]}
        kept = ["batch", memory.past_inputs, len(exported.inputs)] if memory.past_inputs else applied
        state |= {"applied": kept} if exported.kept_inputs else {}
        inputs = [describe("measured", real, ["batch", memory.columns])]
        inputs += [describe(name, double, shape) for name, shape in state.items()]
        inputs += [] if exported.reference is None else [describe("sample", integer, ["batch"])]
        results = [describe("inputs", real, applied)]
        results += [describe(f"new_{name}", double, shape) for name, shape in state.items()]
        return self.onnx.helper.make_graph(self.nodes, "policy", inputs, results, self.constants)
