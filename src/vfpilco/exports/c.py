"""A policy as C99: a header and a source file, no heap, all state in a struct of the caller."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.templates import fill
from vfpilco.exports.text import Precision, inward, numbers, plain, rounded
from vfpilco.policy.layers import Basis, Dense
from vfpilco.state.memory import Entry


def files(exported: Exported, precision: Precision) -> dict[str, str]:
    """The header and the source."""
    memory, kinds = exported.memory, {type(layer) for chain in exported.chains for layer in chain}
    functions = {name: name + _suffix(precision) for name in ("exp", "tanh", "sin", "cos")}
    tables = [*_memory_tables(exported), _table("limits", inward(exported.limits, precision))]
    tables += [] if exported.slew is None else [_table("most_change", exported.slew)]
    header = fill(
        "policy.h",
        task=plain(exported.origin.task),
        real=precision,
        measures=memory.columns,
        inputs=len(exported.inputs),
        memory=memory.rows,
        sampling_time=repr(exported.sampling_time),
        measured=_listed(exported.measures),
        applied=_listed(exported.inputs, _bounds(exported)),
        last_inputs="" if exported.slew is None else "\n    double applied[VFPILCO_INPUTS];",
        slew="" if exported.slew is None else SLEW,
    )
    source = fill(
        "policy.c",
        entries=exported.entries,
        window=memory.window,
        filters=memory.filters,
        last_sample=0 if exported.reference is None else len(exported.reference) - 1,
        tables="\n".join(tables + _layer_tables(exported, precision)),
        limited=fill("limited.c", **functions),
        slew="" if exported.slew is None else fill("slew.c"),
        slewed="" if exported.slew is None else "\n    slew(policy, valid, u);",
        filter=fill("filter.c") if memory.filters else "",
        filtered="\n            filter(policy, z);" if memory.filters else "",
        circle=fill("circle.c", **functions) if any(entry.of for entry in memory.entries) else "",
        policy_input="\n".join(_policy_input(exported)),
        layers="\n".join(fill(file, **functions) for kind, (file, _) in LAYERS.items() if kind in kinds),
        chains="\n".join(_calls(exported)),
    )
    return {"policy.h": header, "policy.c": re.sub("\n{3,}", "\n\n", source)}


SLEW = """
 *
 * From one sample to the next an input changes by at most the amount above; after a reset it starts at zero. Where 0 is
 * returned, inputs are set to zero at once and change from there."""
"""The comment about a slew limit in the header."""


def _suffix(precision: Precision) -> str:
    return "f" if precision == "float" else ""


def _listed(quantities: tuple[Quantity, ...], bounds: list[str] | None = None) -> str:
    lines = enumerate(zip(quantities, bounds or [""] * len(quantities), strict=True))
    return "\n".join(f" *   {i}: {plain(q.name)} [{plain(q.unit)}]{bound}" for i, (q, bound) in lines)


def _bounds(exported: Exported) -> list[str]:
    """The limits of every input."""
    bounds = [f", between -{limit} and {limit}" for limit in exported.limits]
    if exported.slew is None:
        return bounds
    return [f"{bound}, changes by at most {most}" for bound, most in zip(bounds, exported.slew, strict=True)]


# -- tables ------------------------------------------------------------------------------------------------------


def _table(name: str, values: np.ndarray) -> str:
    """An array in C, a line per row, in its own precision."""
    kind, suffix = ("double", "") if values.dtype == np.float64 else ("float", "f")
    lines = ",\n    ".join(numbers(values, suffix))
    return f"static const {kind} {name}[{values.size}] = {{\n    {lines}\n}};\n"


def _memory_tables(exported: Exported) -> list[str]:
    memory = exported.memory
    turning = ", ".join(str(int(turns)) for turns in memory.turning)
    tables = [f"static const int turning[{memory.columns}] = {{{turning}}};\n", _table("start", memory.start)]
    if memory.filters:
        tables += [_table("filter_a", memory.a), _table("filter_b", memory.b)]
    return tables if exported.reference is None else [*tables, _table("reference", exported.reference)]


def _layer_tables(exported: Exported, precision: Precision) -> list[str]:
    return [
        _table(f"{name}_{what}", rounded(values, precision))
        for chain in _named(exported)
        for name, layer in chain
        for what, values in layer.arrays.items()
    ]


def _named(exported: Exported) -> list[list[tuple[str, Basis | Dense]]]:
    """Every layer with a name for its arrays."""
    return [[(f"layer_{c}_{i}", layer) for i, layer in enumerate(chain)] for c, chain in enumerate(exported.chains)]


# -- lines of code -----------------------------------------------------------------------------------------------


def _policy_input(exported: Exported) -> list[str]:
    """A line for every entry of x*."""
    lines = [f"    x[{k}] = {_entry(entry)};" for k, entry in enumerate(exported.memory.entries)]
    d_q = len(exported.positions)
    for j in range(0 if exported.reference is None else d_q):
        lines.append(f"    x[{len(lines)}] = (real)(reference[policy->sample * {d_q} + {j}] - m[0][{j}]);")
    return lines


def _entry(entry: Entry) -> str:
    value = f"m[{entry.row}][{entry.column}]"
    value = value if entry.less is None else f"({value} - m[{entry.less}][{entry.column}])"
    return {"": f"(real){value}", "sin": f"sine({value})", "cos": f"cosine({value})"}[entry.of]


def _calls(exported: Exported) -> list[str]:
    """The calls that compute y from x*, and the arrays between layers."""
    buffers, calls = [], []
    for chain in _named(exported):
        given = "x"
        for i, (name, layer) in enumerate(chain):
            result = "y" if i == len(chain) - 1 else f"{name}_out"
            buffers += [f"    real {result}[{layer.sizes[1]}] = {{0}};"] * (result != "y")
            calls.append(f"    {LAYERS[type(layer)][1](layer, name)}, {given}, {result});")
            given = result
    return buffers + calls


def _basis(layer: Basis, name: str) -> str:
    sizes = f"{len(layer.centers)}, {layer.sizes[0]}, {layer.sizes[1]}"
    return f"basis({sizes}, {name}_scale, {name}_centers, {name}_weights"


def _dense(layer: Dense, name: str) -> str:
    return f"dense({int(layer.squash)}, {layer.sizes[0]}, {layer.sizes[1]}, {name}_weights, {name}_bias"


LAYERS: dict[type, tuple[str, Callable[..., str]]] = {Basis: ("basis.c", _basis), Dense: ("dense.c", _dense)}
"""The file with the function of each kind of layer, and how it is called; it reads x and adds to y."""
