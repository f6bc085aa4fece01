"""A learned policy for programs that know nothing of this package: C99, ONNX or NumPy.

`described.py` gathers what is exported, `targets.py` lists the forms. A form sees a policy as a `Memory`, which says
what is remembered and how x* is made of it, and as chains of layers, which say what is made of x*.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from vfpilco.errors import UserError
from vfpilco.export.check import Report
from vfpilco.export.check import check as prove
from vfpilco.export.described import describe
from vfpilco.export.readme import readme
from vfpilco.export.targets import Target, choose
from vfpilco.export.text import Precision
from vfpilco.files import whole_folder, write_whole
from vfpilco.runfolder import RunFolder


class Export(NamedTuple):
    """What was written."""

    folder: Path
    files: list[str]
    report: Report | None
    """What the check found, if one was asked for."""


def export(
    run: str | Path,
    to: str,
    out: str | Path,
    *,
    trial: int | None = None,
    precision: Precision = "double",
    check: bool = False,
) -> Export:
    """Write the policy of a run, that of `trial` or the last one, to the new folder `out`.

    `to` is "c", "onnx" or "numpy". With `check` it is first run against the learned policy on thousands of histories;
    an export that differs is refused.
    """
    target, out = possible(to, out, precision=precision, check=check), Path(out)
    exported = describe(RunFolder(run), trial)
    files = target.files(exported, precision)
    with whole_folder(Path(os.path.abspath(out))) as folder:  # "." has no name
        for name, content in files.items():
            write_whole(folder / name, content)
        report = prove(exported, target, folder, precision) if check else None
        write_whole(folder / "README.md", readme(exported, target, precision, report))
    return Export(out, ["README.md", *files], report)


def possible(to: str, out: str | Path, *, precision: Precision = "double", check: bool = False) -> Target:
    """The form of export called `to`; refused if what it needs is not there, or if `out` is in use."""
    target, out = choose(to, precision), Path(out)
    target.needs()
    if check:
        target.ready()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is {'not empty' if out.is_dir() else 'a file'}: choose another folder for the export.")
    return target
