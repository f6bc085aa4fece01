"""A learned policy for programs that do not use this package: C99, Arduino library, FMU, ONNX or NumPy.

`exported.py` collects what is exported, `targets.py` lists the forms of export. Each form is written from two things: a
`Memory`, which says what is remembered and how x* is computed from it, and chains of layers, which compute the inputs
from x*.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from vfpilco.common.errors import UserError
from vfpilco.common.files import new_folder, write_file
from vfpilco.exports.check import Report, check_components
from vfpilco.exports.check import check as run_check
from vfpilco.exports.exported import describe
from vfpilco.exports.prefix import DEFAULT
from vfpilco.exports.readme import readme
from vfpilco.exports.targets import Target, choose
from vfpilco.exports.text import Precision
from vfpilco.storage.runfolder import RunFolder


class Export(NamedTuple):
    """A finished export."""

    folder: Path
    """Where it was written."""
    files: list[str]
    """The names of its files."""
    report: Report | None
    """The result of the check; None if there was no check."""
    notes: list[str]
    """What to know before it is used, such as which hardware is fast enough."""


def export(
    run: str | Path,
    to: str,
    out: str | Path,
    *,
    trial: int | None = None,
    precision: Precision | None = None,
    prefix: str | None = None,
    check: bool = False,
    components: Iterable[object] = (),
) -> Export:
    """Write the policy of a run as a program that does not need this package.

    Args:
        run: The run folder.
        to: The form of export: "c" (C99), "arduino" (an Arduino library), "fmu" (an FMI 2 co-simulation FMU), "onnx"
            (an ONNX model) or "numpy" (a Python file that needs NumPy only).
        out: A new or empty folder for the export. It appears when it is complete.
        trial: The trial whose policy is exported; the last one if not given.
        precision: "double", or "float" for hardware without double; double if not given, for "arduino" float.
        prefix: What the names in a C program start with; "vfpilco" if not given. Policies with different prefixes can
            be linked into one program.
        check: Whether to run the export against the learned policy on 10,000 histories, and to refuse it if it differs.
        components: Objects of your own classes that the run uses, such as a policy, or the settings of your task.

    Returns:
        Where the export is, and the result of the check.

    Raises:
        UserError: If the run has no such policy, the policy cannot be exported, the folder is not empty, a package or
            compiler is missing, or the check fails.

    Example:
        >>> made = export("runs/first", "c", "exported", check=True)  # doctest: +SKIP
        >>> made.files  # doctest: +SKIP
        ['README.md', 'policy.h', 'policy.c']
    """
    target, out = possible(to, out, precision=precision, prefix=prefix, check=check), Path(out)
    precision = precision or target.precisions[0]
    exported = describe(RunFolder(run, *components), trial, prefix or DEFAULT)
    check_components(exported)
    files = target.files(exported, precision)
    with new_folder(Path(os.path.abspath(out))) as folder:  # "." has no name
        for name, content in files.items():
            write_file(folder / name, content)
        report = run_check(exported, target, folder, precision) if check else None
        write_file(folder / "README.md", readme(exported, target, precision, report))
    return Export(out, ["README.md", *files], report, target.notes(exported, precision))


def possible(
    to: str, out: str | Path, *, precision: Precision | None = None, prefix: str | None = None, check: bool = False
) -> Target:
    """The form of export called `to`; a `UserError` if something that it needs is missing, or if `out` is in use."""
    target, out = choose(to, precision, prefix), Path(out)
    target.require_writing()
    if check:
        target.require_running()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is {'not empty' if out.is_dir() else 'a file'}: choose another folder for the export.")
    return target
