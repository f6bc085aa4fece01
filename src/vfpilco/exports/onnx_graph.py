"""A graph of ONNX operators, built up line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.described import Exported
from vfpilco.exports.text import DTYPES, Precision


def library() -> Any:
    """The package onnx, if it is installed."""
    try:
        import onnx
    except ImportError as error:
        raise UserError("To export to ONNX the package onnx is needed: pip install 'vfpilco[onnx]'.") from error
    return onnx


class Graph:
    """Nodes and constants as they come; `add` gives the name of a result, and takes names and arrays alike."""

    def __init__(self, onnx: Any, precision: Precision) -> None:
        self.onnx = onnx
        self.precision: Precision = precision
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *given: str | np.ndarray, result: str = "", **attributes: Any) -> str:
        """A node; the name of what it gives."""
        names = [one if isinstance(one, str) else self.constant(one) for one in given]
        result = result or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def constant(self, values: np.ndarray) -> str:
        """An array of the model."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def cast(self, name: str, kind: Any, result: str = "") -> str:
        """The same numbers in another type."""
        return self.add("Cast", name, result=result, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def cut(self, name: str, first: int, end: int) -> str:
        """A part of the first axis after the batch."""
        return self.add("Slice", name, np.array([first]), np.array([end]), np.array([1]))

    def every(self, truth: str, axes: list[int]) -> str:
        """Whether all along these axes are true; the axes stay."""
        return self.cast(self.add("ReduceMin", self.cast(truth, np.int32), axes=axes, keepdims=1), bool)

    def finish(self, exported: Exported) -> Any:
        """The graph with its inputs and outputs."""
        describe, memory = self.onnx.helper.make_tensor_value_info, exported.memory
        real = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[self.precision]))
        exact, whole = self.onnx.TensorProto.DOUBLE, self.onnx.TensorProto.INT64
        applied = ["batch", len(exported.inputs)]
        state = {"memory": ["batch", memory.rows, memory.columns]}
        state |= {} if exported.slew is None else {"applied": applied}
        given = [describe("measured", real, ["batch", memory.columns])]
        given += [describe(name, exact, shape) for name, shape in state.items()]
        given += [] if exported.reference is None else [describe("sample", whole, ["batch"])]
        results = [describe("inputs", real, applied)]
        results += [describe(f"new_{name}", exact, shape) for name, shape in state.items()]
        return self.onnx.helper.make_graph(self.nodes, "policy", given, results, self.constants)
