"""Formulas as MathML, which browsers draw themselves: no script and no network is needed to read them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
SPACE = "http://www.w3.org/1998/Math/MathML"
ET.register_namespace("", SPACE)


def converted(node: nodes.Element, as_block: bool) -> str:
    """The MathML of a formula; one that cannot be converted is a warning, which `make docs` refuses."""
    text = node.astext().strip()
    try:
        return with_accents(latex2mathml.tex2mathml(text, as_block=as_block))
    except (MathError, SyntaxError) as error:
        logger.warning("formula %r: %s", text, error, location=node)
        return f"<code>{text}</code>"


def with_accents(mathml: str) -> str:
    """Docutils sets the index of an accented letter below the letter: set it where an index belongs."""
    root = ET.fromstring(mathml.replace("&ApplyFunction;", "\u2061"))
    for parent in list(root.iter()):
        for i, found in enumerate(parent):
            if found.tag == f"{{{SPACE}}}munderover" and found[2].get("stretchy") == "false":
                letter, index, accent = found
                indexed = ET.Element(f"{{{SPACE}}}msub")
                accented = ET.SubElement(indexed, f"{{{SPACE}}}mover", accent="true")
                accented.extend([letter, accent])
                indexed.append(index)
                parent[i] = indexed
    return ET.tostring(root, encoding="unicode")


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """A formula within a sentence."""
    self.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own; a wide one can be scrolled."""
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(converted(node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
