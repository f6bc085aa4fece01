"""Records as JSON objects, and back with every type checked."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

from vfpilco.common.errors import UserError

Record = TypeVar("Record")


def to_json_types(record: Any) -> Any:
    """A dataclass as a dictionary of JSON types; fields that have their default are left out."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {
            f.name: to_json_types(getattr(record, f.name))
            for f in dataclasses.fields(record)
            if not _is_default(f, getattr(record, f.name))
        }
    if isinstance(record, dict):
        return {name: to_json_types(value) for name, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json_types(value) for value in record]
    return record


def _is_default(f: dataclasses.Field, value: Any) -> bool:
    default = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
    return default is not dataclasses.MISSING and value == default


def from_json_types(data: Any, cls: type[Record]) -> Record:
    """The record of class `cls` in a dictionary; a `ValueError` says which entry has the wrong type."""
    try:
        return msgspec.convert(data, cls)
    except (msgspec.ValidationError, UserError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error
