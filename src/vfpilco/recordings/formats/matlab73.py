"""MATLAB files of version 7.3, which are HDF5 files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.recordings.formats.base import package

NUMBERS = ("double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
DEEPEST = 8
"""How many structs may be in each other."""


class MatlabOpaque:
    """An object that only MATLAB can read."""


def load(path: Path) -> dict[str, Any]:
    """The variables of a file: arrays, texts, and dictionaries for structs."""
    h5py = package("h5py", "a MATLAB file of version 7.3")
    with h5py.File(path, "r") as file:
        return {name: _value(h5py, file, one, 0) for name, one in file.items() if not name.startswith("#")}


def _value(h5py: Any, file: Any, one: Any, depth: int) -> Any:
    if isinstance(one, h5py.Group):
        fields = {} if depth == DEEPEST else {name: _value(h5py, file, each, depth + 1) for name, each in one.items()}
        listed = [name for name, value in fields.items() if isinstance(value, list)]
        if listed and len(listed) == len(fields):  # an array of structs: a list per field
            return [dict(zip(fields, entry, strict=True)) for entry in zip(*fields.values(), strict=True)]
        return fields
    kind = one.attrs.get("MATLAB_class", b"").decode()
    if "MATLAB_object_decode" in one.attrs:
        return MatlabOpaque()
    if kind == "char":
        return "".join(map(chr, np.ravel(one[()]).tolist()))
    if kind in NUMBERS or (not kind and one.dtype.kind in "biuf"):  # other programs than MATLAB leave the class out
        empty = "MATLAB_empty" in one.attrs
        return np.empty(0) if empty else np.squeeze(np.asarray(one[()]).T)  # MATLAB orders by columns
    if one.dtype == h5py.ref_dtype and not kind:  # a field of an array of structs
        return [_value(h5py, file, file[reference], depth + 1) for reference in np.ravel(one[()])]
    return None
