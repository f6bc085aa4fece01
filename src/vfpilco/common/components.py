"""Components (kernels, policies, states, …) as JSON, and back.

A component is a frozen dataclass. Its description is `{"type": class name, field: value, …}`, where values that are
components themselves are described the same way; fields that are hidden from its `repr` are left out while they have
their default. A description is turned back into an object with the classes that
are known: those of the package, and those that a user's own task file brings along.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np

from vfpilco.common.errors import UserError


def describe(value: Any) -> Any:
    """Describe a component, or a plain value, in JSON types.

    Raises:
        UserError: If a field holds something that JSON cannot express, such as a function.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        hidden = {f.name for f in dataclasses.fields(value) if not f.repr and fields.get(f.name) == f.default}
        named = {name: describe(entry) for name, entry in fields.items() if name not in hidden}
        return {"type": type(value).__name__, **named}
    if isinstance(value, Mapping):
        return {str(name): describe(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [describe(entry) for entry in value]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UserError(
        f"A component holds {value!r}, which cannot be written to a file: keep functions in methods of its class."
    )


def rebuild(description: Any, known: Mapping[str, type]) -> Any:
    """The object that `describe` described, its lists as tuples.

    Raises:
        UserError: If it is of a class that is not among `known`.
        TypeError, ValueError: If its fields do not fit the class; those of the package's classes are checked.
    """
    if isinstance(description, list):
        return tuple(rebuild(entry, known) for entry in description)
    if not isinstance(description, dict):
        return description
    fields = {name: rebuild(entry, known) for name, entry in description.items() if name != "type"}
    if "type" not in description:
        return fields
    name = description["type"]
    if not isinstance(name, str) or name not in known:
        raise UserError(
            f"{str(name)[:100]!r} is not a component of vfpilco: use the task file that defines it (--task)."
        )
    return known[name](**_typed(known[name], fields))


def _typed(cls: type, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a component of this package, each of the type that the class says."""
    if not _is_ours(cls):
        return fields
    hints = get_type_hints(cls)
    unknown = set(fields) - {f.name for f in dataclasses.fields(cls) if f.init}
    if unknown:
        raise TypeError(f"{cls.__name__} has no {sorted(unknown)[0]!r}")
    return {name: _fitting(value, hints[name]) for name, value in fields.items()}


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith(f"{__name__.partition('.')[0]}.")


def _fitting(value: Any, hint: Any) -> Any:
    """A value of the type that a class says."""
    if dataclasses.is_dataclass(value):
        return _component(hint, value)
    if value is None and type(None) in get_args(hint):
        return None
    return msgspec.convert(value, hint, dec_hook=_component)


def _component(hint: Any, value: Any) -> Any:
    """A component that has all that the expected class or protocol has; one of the user's own is not checked."""
    if dataclasses.is_dataclass(value) and not _is_ours(type(value)):
        return value
    expected = [cls for cls in get_args(hint) or (hint,) if cls is not type(None)]
    parts = [[name for name in vars(cls) if not name.startswith("_")] for cls in expected]
    fits = any(all(hasattr(type(value), name) for name in names) for names in parts)
    if not dataclasses.is_dataclass(value) or not fits:
        raise TypeError(f"{type(value).__name__} is not a {getattr(expected[0], '__name__', expected[0])}")
    return value


def classes(*components: Any) -> dict[str, type]:
    """The classes of components and of everything inside them, by name."""
    return {type(part).__name__: type(part) for component in components for part in _parts(component)}


def _parts(value: Any) -> Iterator[Any]:
    inside: Iterable[Any] = ()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        inside = (getattr(value, f.name) for f in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, tuple | list):
        inside = value
    for entry in inside:
        yield from _parts(entry)
