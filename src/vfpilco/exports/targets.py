"""The forms of export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from vfpilco.common.errors import UserError, unknown
from vfpilco.exports import arduino, boards, c, compiled, fmu, numpy_file, onnx_graph, onnx_model, runners
from vfpilco.exports.exported import Exported
from vfpilco.exports.prefix import check_prefix
from vfpilco.exports.text import DTYPES, Precision
from vfpilco.plants.fmu import library

Form = Literal["c", "arduino", "fmu", "onnx", "numpy"]
"""The names of the forms of export."""


class Target(NamedTuple):
    """A form of export; a new one is a line in `TARGETS`."""

    files: Callable[[Exported, Precision], Mapping[str, str | bytes]]
    """Creates its files, except README.md."""
    usage: str
    """The template of the section about it in README.md."""
    require_writing: Callable[[], object]
    """Raises a `UserError` if something is not installed that writing it needs."""
    require_running: Callable[[], object]
    """Raises a `UserError` if something is not installed that running it needs."""
    run: Callable[[Path, runners.Trials], runners.Answers]
    """Runs what was written to a folder."""
    precisions: tuple[Precision, ...] = ("double", "float")
    """The precisions that it can compute in; the first is the default."""
    prefix: bool = False
    """Whether the names in it start with a prefix."""
    notes: Callable[[Exported, Precision], list[str]] = lambda exported, precision: []
    """What to know before it is used."""


TARGETS: dict[Form, Target] = {
    "c": Target(c.files, "usage-c.md", lambda: None, compiled.compiler, runners.run_c, prefix=True),
    "arduino": Target(
        arduino.files,
        "usage-arduino.md",
        lambda: None,
        compiled.compiler,
        runners.run_arduino,
        ("float", "double"),
        prefix=True,
        notes=boards.notes,
    ),
    "fmu": Target(fmu.files, "usage-fmu.md", fmu.require_compiler, library, runners.run_fmu, prefix=True),
    "onnx": Target(onnx_model.files, "usage-onnx.md", onnx_graph.library, runners.onnx_runtime, runners.run_onnx),
    "numpy": Target(numpy_file.files, "usage-numpy.md", lambda: None, lambda: None, runners.run_numpy, ("double",)),
}


def choose(to: str, precision: str | None = None, prefix: str | None = None) -> Target:
    """The form of export called `to`; a `UserError` if there is none, or not in that precision or with a prefix."""
    if to not in TARGETS:
        raise unknown("form of export", str(to), TARGETS)
    target = TARGETS[to]
    if precision is not None and precision not in DTYPES:
        raise unknown("precision", str(precision), DTYPES)
    if precision not in (None, *target.precisions):
        raise UserError(f"An export to {to} computes in {target.precisions[0]}: leave --precision out.")
    if prefix is not None:
        if not target.prefix:
            raise UserError(f"An export to {to} has no names that need a prefix: leave --prefix out.")
        check_prefix(prefix)
    return target
