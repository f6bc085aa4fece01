"""Parquet files: columns of numbers, dates and texts, also within structs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.recordings.channels import split_unit, time_column
from vfpilco.recordings.formats.base import Found, package, since_first, tabulate
from vfpilco.recordings.table import MOST_ROWS, Table


def read(path: Path) -> Table:
    """The columns of a Parquet file."""
    parquet = package("pyarrow.parquet", "a Parquet file")
    rows = parquet.read_metadata(path).num_rows
    if rows > MOST_ROWS:
        raise UserError(f"{path} has {rows} rows, more than the {MOST_ROWS} of any trial: save a single trial.")
    content = parquet.read_table(path)
    structs = {field.name for field in content.schema if _is_struct(field)}
    while any(_is_struct(field) for field in content.schema):
        content = content.flatten()
    names = [field.name for field in content.schema]
    found = []
    for i, name in enumerate(names):
        values, path_of = _values(content.column(i)), tuple(name.split("."))
        if values.dtype.kind in "mM":
            is_time = time_column([name]) is not None or time_column(names) is not None
            name, values = f"{split_unit(name)[0] if is_time else 'time'} [s]", since_first(values)
        found.append(Found(path_of if path_of[0] in structs else (name,), values))
    return tabulate(path, found)


def _is_struct(field: Any) -> bool:
    return str(field.type).startswith("struct")


def _values(column: Any) -> np.ndarray:
    """A column as an array; entries that are no numbers as objects."""
    kind = str(column.type)
    if kind.startswith("decimal"):
        column = column.cast("float64")
    if kind.startswith("dictionary"):
        column = column.combine_chunks().dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object and kind == "bool":
        return np.array([np.nan if value is None else float(value) for value in values])
    return values
