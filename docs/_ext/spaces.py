"""Numbers stay on the line of their units: the space between them does not break."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

UNIT = re.compile(r"(?<=\d) (?=(?:%|°|Hz|kHz|MHz|N|V|[kmµ]?m|[mµ]?s|min|m?rad|[kMG]?B)(?!\w))")
"""A space between a digit and a unit."""


def join(app: Sphinx, doctree: nodes.document) -> None:
    """Replace these spaces everywhere but in code."""
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.FixedTextElement | nodes.raw):
            joined = UNIT.sub("\N{NO-BREAK SPACE}", text)
            if joined != text:
                text.parent.replace(text, nodes.Text(joined))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.connect("doctree-read", join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
