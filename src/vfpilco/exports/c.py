"""A policy as C99: a header and a source file, no heap, all state in a struct of the caller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.footprint import ARM, AVR, Footprint, Processor, operations, stack_bytes, struct_bytes
from vfpilco.exports.prefix import names
from vfpilco.exports.templates import fill
from vfpilco.exports.text import Precision, inward, numbers, plain, rounded
from vfpilco.policy.layers import Basis, Dense
from vfpilco.state.memory import Entry


def files(exported: Exported, precision: Precision) -> dict[str, str]:
    """The header and the source."""
    called = names(exported.prefix)
    return {
        called["header"]: header(exported, precision, called),
        called["source"]: source(exported, precision, called),
    }


def header(exported: Exported, precision: Precision, called: Mapping[str, str]) -> str:
    """The header, with the given names of files and symbols."""
    memory = exported.memory
    return fill(
        "policy.h",
        **called,
        task=plain(exported.origin.task),
        real=precision,
        measures=memory.columns,
        inputs=len(exported.inputs),
        memory=memory.rows,
        past_inputs=f"\n#define {called['PREFIX']}_PAST_INPUTS {memory.past_inputs}" if memory.past_inputs else "",
        sampling_time=repr(exported.sampling_time),
        footprint=_footprint(exported, precision),
        measured=_listed(exported.measures),
        applied=_listed(exported.inputs, _bounds(exported)),
        last_inputs=_last_inputs(exported, called["PREFIX"]),
        past=PAST if memory.past_inputs else "",
        slew="" if exported.slew is None else SLEW,
        actual=fill("actual.h", **called).rstrip() if memory.past_inputs else "",
    )


def source(exported: Exported, precision: Precision, called: Mapping[str, str]) -> str:
    """The source file, with the given names of files and symbols."""
    memory, kinds = exported.memory, {type(layer) for chain in exported.chains for layer in chain}
    functions = {name: name + _suffix(precision) for name in ("exp", "tanh", "sin", "cos")}
    turning = ", ".join(str(int(turns)) for turns in memory.turning)
    tables = [f"static const int turning[{memory.columns}] = {{{turning}}};\n"]
    tables += [_table(name, values) for name, values in constants(exported, precision).items()]
    text = fill(
        "policy.c",
        **called,
        entries=exported.entries,
        window=memory.window,
        filters=memory.filters,
        last_sample=0 if exported.reference is None else len(exported.reference) - 1,
        tables="\n".join(tables),
        limited=fill("limited.c", **functions),
        slew=_remembering(exported, called),
        slewed=_after_step(exported, called["PREFIX"]),
        actual=fill("actual.c", **called) if memory.past_inputs else "",
        filter=fill("filter.c", **called) if memory.filters else "",
        filtered="\n            filter(policy, z);" if memory.filters else "",
        circle=fill("circle.c", **functions) if any(entry.of for entry in memory.entries) else "",
        policy_input="\n".join(_policy_input(exported)),
        layers="\n".join(fill(file, **functions) for kind, (file, _) in LAYERS.items() if kind in kinds),
        chains="\n".join(_calls(exported)),
    )
    return re.sub("\n{3,}", "\n\n", text)


SLEW = """
 *
 * From one sample to the next an input changes by at most the amount above; after a reset it starts at zero. Where 0 is
 * returned, inputs are set to zero at once and change from there."""
"""The comment about a slew limit in the header."""
PAST = """
 *
 * The policy sees the past inputs. Where 0 is returned, zeros are remembered: apply them."""
"""The comment about past inputs in the header."""


def _last_inputs(exported: Exported, prefix: str) -> str:
    """The member of the struct that keeps the last inputs."""
    if exported.memory.past_inputs:
        return f"\n    double applied[{prefix}_PAST_INPUTS][{prefix}_INPUTS]; /* the last inputs, newest first */"
    return "" if exported.slew is None else f"\n    double applied[{prefix}_INPUTS];"


def _remembering(exported: Exported, called: Mapping[str, str]) -> str:
    """The functions that keep the last inputs and apply the slew limit."""
    past = exported.memory.past_inputs > 0
    last = "policy->applied[0][i]" if past else "policy->applied[i]"
    keep = "keep(policy, i, valid ? wanted : 0)" if past else f"{last} = valid ? wanted : 0"
    kept = fill("past.c", **called) + "\n" if past else ""
    return kept + ("" if exported.slew is None else fill("slew.c", **called, last=last, keep=keep))


def _after_step(exported: Exported, prefix: str) -> str:
    """The lines at the end of a step that apply the slew limit and keep the inputs."""
    if exported.slew is not None:
        return "\n    slew(policy, valid, u);"
    kept = f"\n    for (i = 0; i < {prefix}_INPUTS; i++) {{\n        keep(policy, i, (double)u[i]);\n    }}"
    return kept if exported.memory.past_inputs else ""


def _suffix(precision: Precision) -> str:
    return "f" if precision == "float" else ""


def _listed(quantities: tuple[Quantity, ...], bounds: list[str] | None = None) -> str:
    lines = enumerate(zip(quantities, bounds or [""] * len(quantities), strict=True))
    return "\n".join(f" *   {i}: {plain(q.name)} [{plain(q.unit)}]{bound}" for i, (q, bound) in lines)


def _footprint(exported: Exported, precision: Precision) -> str:
    """Lines of a comment about memory and time."""
    lines = [f"A step takes at most {operations(exported)}."]
    for processor in (AVR, ARM):
        used = footprint(exported, precision, processor)
        lines.append(
            f"On {processor.article} {processor.name}: {used.constants} bytes of constants, {used.struct} of struct, "
            f"{used.stack} of stack and what calls take."
        )
    return "\n".join(f" * {line}" for line in lines)


def footprint(exported: Exported, precision: Precision, processor: Processor) -> Footprint:
    """The memory that the program takes on a processor."""
    return Footprint(
        processor.bytes_of(constants(exported, precision).values()),
        struct_bytes(exported, processor),
        stack_bytes(exported, precision, processor),
    )


def _bounds(exported: Exported) -> list[str]:
    """The limits of every input."""
    bounds = [f", between -{limit} and {limit}" for limit in exported.limits]
    if exported.slew is None:
        return bounds
    return [f"{bound}, changes by at most {most}" for bound, most in zip(bounds, exported.slew, strict=True)]


# -- tables ------------------------------------------------------------------------------------------------------


def constants(exported: Exported, precision: Precision) -> dict[str, np.ndarray]:
    """Every table of the program by name, in the precision that it has there."""
    memory, tables = exported.memory, {"start": exported.memory.start}
    if memory.filters:
        tables |= {"filter_a": memory.a, "filter_b": memory.b}
    if exported.reference is not None:
        tables["reference"] = exported.reference
    tables["limits"] = inward(exported.limits, precision)
    if exported.slew is not None:
        tables["most_change"] = exported.slew
    for chain in _named(exported):
        for name, layer in chain:
            tables |= {f"{name}_{what}": rounded(values, precision) for what, values in layer.arrays.items()}
    return tables


def _table(name: str, values: np.ndarray) -> str:
    """An array in C, a line per row, in its own precision."""
    kind, suffix = ("double", "") if values.dtype == np.float64 else ("float", "f")
    lines = ",\n    ".join(numbers(values, suffix))
    return f"static const {kind} {name}[{values.size}] FLASH = {{\n    {lines}\n}};\n"


def _named(exported: Exported) -> list[list[tuple[str, Basis | Dense]]]:
    """Every layer with a name for its arrays."""
    return [[(f"layer_{c}_{i}", layer) for i, layer in enumerate(chain)] for c, chain in enumerate(exported.chains)]


# -- lines of code -----------------------------------------------------------------------------------------------


def _policy_input(exported: Exported) -> list[str]:
    """A line for every entry of x*."""
    lines = [f"    x[{k}] = {_entry(entry)};" for k, entry in enumerate(exported.memory.entries)]
    d_q = len(exported.positions)
    for j in range(0 if exported.reference is None else d_q):
        lines.append(f"    x[{len(lines)}] = (real)(AT(reference, policy->sample * {d_q} + {j}) - m[0][{j}]);")
    return lines


def _entry(entry: Entry) -> str:
    if entry.applied:
        return f"(real)policy->applied[{entry.row}][{entry.column}]"
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
