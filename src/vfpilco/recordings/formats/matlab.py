"""MATLAB files: variables, structs and Simulink's structures with time; `matlab73.py` reads those of version 7.3."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.recordings.formats import matlab73
from vfpilco.recordings.formats.base import Found, tabulate
from vfpilco.recordings.table import MOST_BYTES, Table


def read(path: Path) -> Table:
    """The vectors and matrices of a MATLAB file as columns.

    Raises:
        UserError: If a package is missing, or if there are objects that only MATLAB can read and no vectors.
    """
    if path.stat().st_size > MOST_BYTES:
        raise UserError(f"{path} is {path.stat().st_size} bytes long, more than any trial: save a single trial.")
    with open(path, "rb") as file:
        start = file.read(600)
    content = matlab73.load(path) if b"MATLAB 7.3" in start[:128] or b"\x89HDF" in start else _load(path)
    found = list(arrays(content))
    if not any(one.values.size > 1 for one in found) and any(_is_opaque(value) for value in content.values()):
        raise UserError(
            f"{path} has only objects that MATLAB alone can read, such as a table, timetable or timeseries: save their "
            "columns with s = table2struct(T, 'ToScalar', true); save('log.mat', '-struct', 's')."
        )
    return tabulate(path, found)


TRIAL_READING = "import sys; from scipy.io import loadmat; loadmat(sys.argv[1])"
"""A program that reads a file; an error is one exit code, a crash another."""


def _load(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    # A damaged file can crash the process that reads it, and with it whatever that process is doing.
    tried = subprocess.run([sys.executable, "-c", TRIAL_READING, str(path)], capture_output=True, check=False)
    if tried.returncode not in (0, 1):
        raise ValueError("SciPy's reader crashes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as a variable that occurs twice
        content = loadmat(path, struct_as_record=False, squeeze_me=True)
    return {name: _plain(value) for name, value in content.items() if not name.startswith("__")}


def _plain(value: Any) -> Any:
    """A struct as a dictionary, an array of structs as a list of them."""
    if hasattr(value, "_fieldnames"):
        return {name: _plain(getattr(value, name)) for name in value._fieldnames}
    if isinstance(value, np.ndarray) and value.dtype == object and value.size:
        return [_plain(entry) for entry in value.ravel()] if hasattr(value.flat[0], "_fieldnames") else value
    return value


def arrays(content: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterable[Found]:
    """Every array in nested structs; an array of structs has the names of their labels, as signals of Simulink have."""
    for name, value in content.items():
        place = (*above, name)
        if isinstance(value, Mapping):
            yield from arrays(value, place)
        elif isinstance(value, list):
            for i, entry in enumerate(value):
                yield from arrays({str(entry.get("label") or f"{name}_{i + 1}"): entry}, above)
        elif value is not None and not _is_opaque(value):
            yield Found(place, np.asarray(value))


def _is_opaque(value: Any) -> bool:
    """Whether it is an object of a class, which cannot be read."""
    return type(value).__name__ in ("MatlabOpaque", "MatlabFunction", "MatlabObject")
