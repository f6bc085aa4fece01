"""The docstrings of fields, which Python forgets, as part of the docstring of their class: `help()` shows them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from functools import cache

WIDTH = 100
HEADING = "Attributes:"
EXPLAINED = {"explained": True}
"""The metadata of a field that `help()` explains although a usual `repr` leaves it out."""


def document(cls: type) -> None:
    """Add the fields of a dataclass to its docstring, once; a field that is a group of settings with its own fields."""
    text = inspect.cleandoc(cls.__doc__ or "")
    if not dataclasses.is_dataclass(cls) or HEADING in text:
        return
    lines = _lines(cls, 1)
    if not lines:
        return
    section = "\n".join([HEADING, *lines])
    before, example, after = text.partition("\nExample:")
    cls.__doc__ = f"{before.rstrip()}\n\n{section}\n{example}{after}\n"


def _lines(cls: type, depth: int) -> list[str]:
    """A paragraph for every field, indented; those of a group follow it."""
    texts, indent, lines = field_docstrings(cls), "    " * depth, []
    for f in dataclasses.fields(cls):
        said = texts.get(f.name, "")
        if not f.init or not (f.repr or f.metadata.get("explained")) or not said:
            continue
        lines += textwrap.wrap(
            f"{f.name}: {said}", WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", break_long_words=False
        )
        group = f.default_factory
        if isinstance(group, type) and group.__name__ in str(f.type) and dataclasses.is_dataclass(group):
            lines += _lines(group, depth + 1)
    return lines


@cache
def field_docstrings(cls: type) -> dict[str, str]:
    """The string below every field of a class and of its bases, by the name of the field; empty without source code."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(below):
                found[field.target.id] = " ".join(ast.literal_eval(below.value).split())  # pyright: ignore
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
