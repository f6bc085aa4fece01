"""A policy as one Python file that needs NumPy only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.templates import fill
from vfpilco.exports.text import Precision, numbers, plain
from vfpilco.policy.layers import Basis, Dense
from vfpilco.state.memory import Entry


def files(exported: Exported, precision: Precision = "double") -> dict[str, str]:
    """The file."""
    source = fill(
        "policy.py.txt",
        task=plain(exported.origin.task),
        sampling_time=repr(exported.sampling_time),
        measured=_named(exported.measures),
        applied=_named(exported.inputs),
        **_inputs(exported),
        policy_input="\n".join(f"            {line}," for line in _policy_input(exported)),
        chains="\n".join(f"    y = y + {_chain(exported, c)}" for c in range(len(exported.chains))),
        tables="\n".join(f"{name} = {_array(values)}" for name, values in _tables(exported).items()),
    )
    return {"policy.py": source}


def _inputs(exported: Exported) -> dict[str, str]:
    """The lines that apply and remember inputs."""
    if exported.memory.past_inputs:
        return {**PAST, **(SEEN if exported.slew is None else SEEN_AND_SLEWED)}
    return {**UNSEEN, **(FREE if exported.slew is None else SLEWED)}


FREE = {"last_inputs": "", "slew": "", "apply": "        return np.zeros(len(APPLIED)) if u is None else u"}
SLEWED = {
    "last_inputs": "\n        self.applied = np.zeros(len(APPLIED))",
    "slew": """

        From one sample to the next an input changes by at most MOST_CHANGE; after a reset it starts at zero. Inputs
        that are zero because of an invalid measurement are set to zero at once and change from there.""",
    "apply": """        low, high = self.applied - MOST_CHANGE, self.applied + MOST_CHANGE
        u = np.zeros(len(APPLIED)) if u is None else np.clip(u, low, high)
        self.applied = u.copy()
        return u""",
}
"""The lines of a policy without and with a slew limit."""
UNSEEN = dict.fromkeys(("given", "taken", "past", "actual"), "")
PAST = {
    "last_inputs": "\n        self.applied = np.zeros((PAST_INPUTS, len(APPLIED)))  # newest first",
    "given": ", self.applied",
    "taken": ", applied",
    "past": " and the past inputs",
    "actual": '''

    def actual(self, applied):
        """Where the machine applied other inputs than the last step returned: those that it applied."""
        self.applied[0] = np.clip(np.where(np.isfinite(applied), applied, 0), -LIMITS, LIMITS)''',
}
SEEN = {
    "slew": """

        The policy sees the past inputs: zeros are remembered where the measurement is invalid.""",
    "apply": """        u = np.zeros(len(APPLIED)) if u is None else u
        self.applied = np.concatenate([u[None], self.applied[:-1]])
        return u""",
}
SEEN_AND_SLEWED = {
    "slew": SEEN["slew"] + SLEWED["slew"],
    "apply": """        low, high = self.applied[0] - MOST_CHANGE, self.applied[0] + MOST_CHANGE
        u = np.zeros(len(APPLIED)) if u is None else np.clip(u, low, high)
        self.applied = np.concatenate([u[None], self.applied[:-1]])
        return u""",
}
"""The lines of a policy that sees past inputs, without and with a slew limit."""


def _named(quantities: tuple[Quantity, ...]) -> str:
    names = [f'"{plain(q.name)} [{plain(q.unit)}]"' for q in quantities]
    return f"({', '.join(names)},)"


def _tables(exported: Exported) -> dict[str, np.ndarray]:
    """Every number in the file, by name."""
    memory, reference = exported.memory, exported.reference
    tables = {
        "LIMITS": exported.limits,
        "TURNING": np.array(memory.turning, dtype=int),
        "WINDOW": np.array(memory.window),
        "START": memory.start,
        "FILTER_A": memory.a,
        "FILTER_B": memory.b,
        "LAST_SAMPLE": np.array(0 if reference is None else len(reference) - 1),
    }
    if memory.past_inputs:
        tables["PAST_INPUTS"] = np.array(memory.past_inputs)
    if exported.slew is not None:
        tables["MOST_CHANGE"] = exported.slew
    if reference is not None:
        tables["REFERENCE"] = reference
    for c, chain in enumerate(exported.chains):
        for i, layer in enumerate(chain):
            tables |= {f"LAYER_{c}_{i}_{what.upper()}": values for what, values in layer.arrays.items()}
    return tables


def _array(values: np.ndarray) -> str:
    if not values.ndim:
        return str(values)
    lines = ",\n    ".join(numbers(values))
    return f"np.array([\n    {lines}\n]).reshape({values.shape})" if values.size else f"np.zeros({values.shape})"


def _policy_input(exported: Exported) -> list[str]:
    """An expression for every entry of x*."""
    errors = 0 if exported.reference is None else len(exported.positions)
    lines = [_entry(entry) for entry in exported.memory.entries]
    return lines + [f"REFERENCE[sample, {j}] - m[0, {j}]" for j in range(errors)]


def _entry(entry: Entry) -> str:
    if entry.applied:
        return f"applied[{entry.row}, {entry.column}]"
    value = f"m[{entry.row}, {entry.column}]"
    value = value if entry.less is None else f"{value} - m[{entry.less}, {entry.column}]"
    return f"np.{entry.of}({value})" if entry.of else value


def _chain(exported: Exported, c: int) -> str:
    """The nested calls of one chain."""
    expression = "x"
    for i, layer in enumerate(exported.chains[c]):
        expression = LAYERS[type(layer)](layer, f"LAYER_{c}_{i}", expression)
    return expression


def _basis(layer: Basis, name: str, x: str) -> str:
    return f"basis({x}, {name}_SCALE, {name}_CENTERS, {name}_WEIGHTS)"


def _dense(layer: Dense, name: str, x: str) -> str:
    return f"dense({x}, {name}_WEIGHTS, {name}_BIAS, squash={layer.squash})"


LAYERS: dict[type, Callable[..., str]] = {Basis: _basis, Dense: _dense}
"""The call of each kind of layer."""
