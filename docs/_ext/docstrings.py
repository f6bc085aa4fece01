"""Docstrings of the API: how a name is imported, and attributes without napoleon.

The package is lazy, so the module of a name is not what a user imports. Napoleon would read "Position memory: how many
positions …" as an attribute of the type "Position memory".
"""

from __future__ import annotations

import importlib
from typing import Any

from sphinx.application import Sphinx

import vfpilco
from vfpilco.common.documentation import HEADING

LONG = {"jaxlib._jax.Array": "Array", "jax.Array": "Array"}
"""Names of types that one does not import, and those that are meant."""
_attributes: dict[str, list[str]] = {}


def before(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Remember an attribute's docstring; add how a class or function is imported after its first paragraph."""
    if what in ("attribute", "property"):
        field = lines[:1] and lines[0].startswith("Alias for field number")  # of a named tuple, without a docstring
        _attributes[name] = [] if field else list(lines)
    elif what in ("class", "function", "exception"):
        _without_fields(lines)
        place = _place(thing)
        if place:
            end = lines.index("") if "" in lines else len(lines)
            lines[end:end] = ["", f"Import it {place}.", ""]


def _place(thing: Any) -> str:
    """Where a user imports a class or function from; empty if users do not."""
    public = next((f"as ``vfpilco.{name}``" for name in vfpilco.__all__ if getattr(vfpilco, name) is thing), "")
    module = vfpilco.ELSEWHERE.get(getattr(thing, "__name__", ""), "")
    extending = module and getattr(importlib.import_module(module), thing.__name__) is thing
    return public or (f"from ``{module}``" if extending else "")


def _without_fields(lines: list[str]) -> None:
    """Remove the section that `help()` shows: every field has a place of its own on the page."""
    if HEADING in lines:
        begin = lines.index(HEADING)
        end = next((i for i in range(begin + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")), len(lines))
        del lines[begin:end]


def after(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Restore an attribute's docstring."""
    if name in _attributes:
        lines[:] = _attributes.pop(name)


def signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Short names of types; a protocol is not called."""
    if what == "class" and getattr(thing, "_is_protocol", False):
        return "", returned
    for long, short in LONG.items():
        given, returned = (text and text.replace(long, short) for text in (given, returned))
    return given, returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc, before and after napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
