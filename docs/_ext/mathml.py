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
MATH, MROW, MTD, MI, MO, MSPACE, MUNDEROVER = (
    f"{{{SPACE}}}{name}" for name in ("math", "mrow", "mtd", "mi", "mo", "mspace", "munderover")
)
APPLY = "\u2061"
"""The invisible sign between a function and its argument."""
BARS = ("|", "\u2016")
ET.register_namespace("", SPACE)


def converted(node: nodes.Element, as_block: bool) -> str:
    """The MathML of a formula; one that cannot be converted is a warning, which `make docs` refuses."""
    text = node.astext().strip()
    try:
        return polished(latex2mathml.tex2mathml(text, as_block=as_block))
    except (MathError, SyntaxError) as error:
        logger.warning("formula %r: %s", text, error, location=node)
        return f"<code>{text}</code>"


def polished(mathml: str) -> str:
    """What docutils leaves open: indices of accented letters, spaces around functions, bars without spaces."""
    root = ET.fromstring(mathml.replace("&ApplyFunction;", APPLY))
    for parent in list(root.iter()):
        for i, found in enumerate(parent):
            if found.tag == MUNDEROVER and found[2].get("stretchy") == "false":
                parent[i] = indexed_accent(*found)
            elif found.tag == MO and found.text in BARS:
                found.set("lspace", "0")
                found.set("rspace", "0")
        if parent.tag in (MATH, MROW, MTD):
            space_functions(parent)
    return ET.tostring(root, encoding="unicode")


def indexed_accent(letter: ET.Element, index: ET.Element, accent: ET.Element) -> ET.Element:
    """Docutils sets the index of an accented letter below the letter: set it where an index belongs."""
    indexed = ET.Element(f"{{{SPACE}}}msub")
    accented = ET.SubElement(indexed, f"{{{SPACE}}}mover", accent="true")
    accented.extend([letter, accent])
    indexed.append(index)
    return indexed


def space_functions(row: ET.Element) -> None:
    """A thin space between the name of a function and what is next to it, except brackets and operators."""
    parts, spaced = list(row), []
    for i, part in enumerate(parts):
        before = parts[i - 1] if i else None
        if _is_function(part) and before is not None and before.tag not in (MO, MSPACE):
            spaced.append(ET.Element(MSPACE, width="0.17em"))
        if part.tag == MO and part.text == APPLY and i + 1 < len(parts) and not _opens(parts[i + 1]):
            part = ET.Element(MSPACE, width="0.17em")
        spaced.append(part)
    row[:] = spaced


def _is_function(part: ET.Element) -> bool:
    """A name of several letters, or a power of one."""
    name = part if part.tag == MI else part[0] if len(part) else part
    return name.tag == MI and len(name.text or "") > 1


def _opens(part: ET.Element) -> bool:
    first = part[0] if part.tag == MROW and len(part) else part
    return first.tag == MO and first.text == "("


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
