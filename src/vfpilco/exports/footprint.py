"""How much memory an exported C program takes, and how many operations a step takes at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vfpilco.exports.exported import Exported
from vfpilco.exports.text import Precision
from vfpilco.policy.layers import Basis, Dense


@dataclass(frozen=True)
class Processor:
    """The sizes of types on a family of processors, in bytes."""

    article: str
    name: str
    double: int
    long: int
    int: int
    align: int
    """The alignment of a struct that contains doubles."""

    def bytes_of(self, arrays: Iterable[np.ndarray]) -> int:
        """The size of arrays of float or double."""
        return sum(a.size * (4 if a.dtype == np.float32 else self.double) for a in arrays)

    def real(self, precision: Precision) -> int:
        """The size of the type that the program computes with."""
        return 4 if precision == "float" else self.double


AVR = Processor("an", "8-bit AVR", double=4, long=4, int=2, align=1)
ARM = Processor("a", "32-bit ARM", double=8, long=4, int=4, align=8)


@dataclass(frozen=True)
class Footprint:
    """The memory of a program, in bytes; its code is not counted."""

    constants: int
    """In flash."""
    struct: int
    """The state of a policy, kept by the caller."""
    stack: int
    """The arrays of a step; calls take more."""


@dataclass(frozen=True)
class Operations:
    """What one step computes at most; comparisons and copies are not counted."""

    arithmetic: int
    """Additions, subtractions and multiplications."""
    divisions: int
    rint: int
    exp: int
    tanh: int
    sin_cos: int
    """Sines and cosines."""

    def __str__(self) -> str:
        calls = {"exp": self.exp, "tanh": self.tanh, "sin or cos": self.sin_cos, "rint": self.rint}
        listed = [f"{number} {name}" for name, number in calls.items() if number]
        return ", ".join([f"{self.arithmetic} additions and multiplications", f"{self.divisions} divisions", *listed])


def operations(exported: Exported) -> Operations:
    """The operations of a step with a valid measurement, the longest path through the program."""
    memory, inputs = exported.memory, len(exported.inputs)
    turning, circular = sum(map(bool, memory.turning)), sum(bool(entry.of) for entry in memory.entries)
    differences = sum(entry.less is not None for entry in memory.entries)
    layers = [layer for chain in exported.chains for layer in chain]
    # A step either starts the memory (a product per number) or advances the filters.
    remembering = max(memory.rows, memory.filters * (1 + 2 * memory.filters)) * memory.columns
    arithmetic = 3 * turning + remembering + differences + 2 * circular + inputs
    arithmetic += 0 if exported.reference is None else len(exported.positions)
    arithmetic += 0 if exported.slew is None else 2 * inputs
    return Operations(
        arithmetic + sum(map(_arithmetic, layers)),
        divisions=turning + circular + inputs,
        rint=turning + circular,
        exp=sum(len(layer.centers) for layer in layers if isinstance(layer, Basis)),
        tanh=inputs + sum(layer.sizes[1] for layer in layers if isinstance(layer, Dense) and layer.squash),
        sin_cos=circular,
    )


def _arithmetic(layer: Basis | Dense) -> int:
    given, made = layer.sizes
    return len(layer.centers) * (4 * given + 2 * made) if isinstance(layer, Basis) else (2 * given + 1) * made


def struct_bytes(exported: Exported, processor: Processor) -> int:
    """The size of the struct that the caller keeps for a policy."""
    memory = exported.memory
    doubles = memory.rows * memory.columns + exported.kept_inputs * len(exported.inputs)
    content = doubles * processor.double + processor.long + 2 * processor.int
    return -(-content // processor.align) * processor.align


def stack_bytes(exported: Exported, precision: Precision, processor: Processor) -> int:
    """The size of the arrays that a step keeps on the stack."""
    memory, between = exported.memory, [layer.sizes[1] for chain in exported.chains for layer in chain[:-1]]
    reals = exported.entries + len(exported.inputs) + sum(between)
    return (memory.columns + memory.filters) * processor.double + reals * processor.real(precision)
