"""Names of the API say how they are imported: the package is lazy, and its modules are not what a user names."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

import vfpilco


def add_import(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add how it is imported after the first paragraph of a docstring."""
    public = [each for each in vfpilco.__all__ if what in ("class", "function", "exception") and _is(each, thing)]
    if not public:
        return
    end = lines.index("") if "" in lines else len(lines)
    lines[end:end] = ["", f"Import it as ``vfpilco.{public[0]}``.", *([] if "" in lines[end:] else [""])]


def _is(public: str, thing: Any) -> bool:
    return getattr(vfpilco, public) is thing


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc, before napoleon sees the docstring."""
    app.connect("autodoc-process-docstring", add_import, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
